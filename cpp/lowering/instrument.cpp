// What is written beside an instance's value where instrumentation.h asks for it: checks of the
// elements that it touches, and of whether its value is the first that is no number.
#include "algorithm/function_extents.h"
#include "lowering/expressions.h"
#include "lowering/parameter_ranges.h"

#include <algorithm>
#include <limits>

namespace tilewright {

namespace {

bool is_number_type(ScalarType type) { return type.is_floating() || type.is_complex(); }

/// One reported number, two of a complex one.
void report(const ValuePtr &value, std::vector<ValuePtr> &into) {
  const ScalarType type = value->type.scalar;
  if (type.is_complex()) {
    into.push_back(cast_value(call_value(Op::Real, {value}, component_type(type)), Float64));
    into.push_back(cast_value(call_value(Op::Imag, {value}, component_type(type)), Float64));
  } else {
    into.push_back(cast_value(value, Float64));
  }
}

/// The read that a computation copies, element by element; null where it does more.
const Expr *copied_read(const Computation &computation) {
  const bool copies =
      computation.pieces.size() == 1 && computation.pieces[0].value->kind == ExprKind::Access;
  return copies ? computation.pieces[0].value.get() : nullptr;
}

/// Whether what holds a computation is there for a part of the loops only.
bool is_local(const Program &program, const std::string &computation) {
  const auto place = program.places.find(computation);
  return place != program.places.end() && program.buffers.at(place->second.buffer).level > 0;
}

/// What a person calls the computation: where its elements are made in a local buffer and copied
/// out (cache), the one that they are copied to.
std::string shown_name(const Program &program, const Computation &computation) {
  if (is_local(program, computation.name)) {
    for (const Statement &statement : program.statements) {
      const Expr *read = copied_read(*statement.computation);
      if (read != nullptr && read->producer->name == computation.name) {
        return statement.computation->name;
      }
    }
  }
  return computation.name;
}

} // namespace

bool ExpressionTranslator::traces(const Statement &statement) const {
  const Instrumentation &asked = state_.instrumentation;
  const Computation &computation = *statement.computation;
  return asked.values && statement.role != StatementRole::Initialise &&
         is_number_type(computation.type) &&
         (asked.computation.empty() || asked.computation == computation.name ||
          asked.computation == shown_name(state_.program, computation));
}

// The computation's own iterators first, then the reduced ones; copies made by compute_at are
// alike.
IndexSite ExpressionTranslator::site_of_instance() const {
  IndexSite site;
  site.computation = statement_.computation->name;
  site.iterators.assign(frame_.names.begin() + static_cast<std::ptrdiff_t>(statement_.replicas),
                        frame_.names.end());
  site.rank = static_cast<int>(statement_.computation->rank());
  site.piece = static_cast<int>(statement_.piece);
  return site;
}

std::vector<ValuePtr> ExpressionTranslator::instance() const {
  std::vector<ValuePtr> values;
  for (size_t i = statement_.replicas; i < frame_.names.size(); ++i) {
    const auto found = frame_.iterators.find(frame_.names[i]);
    values.push_back(found == frame_.iterators.end() ? integer(0) : found->second);
  }
  if (values.empty()) {
    values.push_back(integer(0)); // a check that was asked for reports something
  }
  return values;
}

// ---- subscripts, and elements that are touched ----

ValuePtr ExpressionTranslator::checked_subscript(const Expr &access, size_t dimension,
                                                 const ValuePtr &value) {
  const ComputationPtr &producer = access.producer;
  const ExprPtr first = first_index(producer->origin, dimension);
  if (!is_zero(first)) { // what is checked counts from the first element
    const ValuePtr origin = translate_parameters(first, state_.program);
    ValuePtr distance = sub(value, origin);
    if (is_wide_unsigned(*access.operands[dimension])) { // 2**63 and more look negative
      distance = select_value(binary_value(Op::Lt, value, integer(0)), integer(-1), distance);
    }
    return add(checked_from_zero(access, dimension, distance), origin);
  }
  return checked_from_zero(access, dimension, value);
}

ValuePtr ExpressionTranslator::checked_from_zero(const Expr &access, size_t dimension,
                                                 const ValuePtr &value) {
  const ComputationPtr &producer = access.producer;
  ValuePtr upper;
  if (dimension < producer->extents.size()) {
    upper = translate_parameters(producer->extents[dimension], state_.program);
  } else {
    // A computation without a declared shape: its place has the shape of its domain.
    const Program::Place &place = state_.program.places.at(producer->name);
    upper = state_.kernel.buffers[place.buffer].extents.at(dimension);
  }
  IndexSite site;
  site.text = producer->name + "[";
  for (size_t i = 0; i < access.operands.size(); ++i) {
    site.text += (i == 0 ? "" : ", ") + to_string(access.operands[i]);
  }
  site.text += "]";
  site.array = producer->name;
  site.dimension = static_cast<int>(dimension);
  site.is_unsigned = is_wide_unsigned(*access.operands[dimension]);
  site.from_origin = !is_zero(first_index(producer->origin, dimension));
  return checked_below(value, upper, std::move(site));
}

ValuePtr ExpressionTranslator::translate_checked(const Expr &expr) {
  IndexSite site;
  site.text = index_text(expr);
  site.array = expr.name.empty() ? "an array" : expr.name;
  site.dimension = static_cast<int>(expr.position);
  site.is_unsigned = is_wide_unsigned(*expr.operands[0]);
  const ValuePtr subscript = cast_value(translate(expr.operands[0]), Int64);
  return checked_below(subscript, translate(expr.operands[1]), std::move(site));
}

ValuePtr ExpressionTranslator::checked_below(const ValuePtr &value, const ValuePtr &upper,
                                             IndexSite site) {
  if (!state_.known) {
    state_.known = parameter_ranges(state_.program);
  }
  if (always_inside(value, upper, *state_.known, state_.definitions)) {
    return value;
  }
  for (const CheckedSubscript &known : frame_.checked) {
    if (known.value == value && same_value(known.upper, upper)) {
      return known.subscript;
    }
  }
  ValuePtr subscript = value;
  if (!is<Variable>(value) && !is<Constant>(value)) {
    const std::int64_t id = state_.numbers.next();
    emit(let(id, "index", value));
    state_.definitions.emplace(id, value);
    subscript = variable(id, "index");
  }
  std::vector<ValuePtr> reported;
  if (state_.instrumentation.bounds) {
    IndexSite whose = site_of_instance();
    site.computation = std::move(whose.computation);
    site.iterators = std::move(whose.iterators);
    site.rank = whose.rank;
    site.piece = whose.piece;
    reported = instance();
  }
  state_.kernel.sites.push_back(std::move(site));
  emit(check_index(static_cast<std::int64_t>(state_.kernel.sites.size()) - 1, subscript, upper,
                   nullptr, std::move(reported)));
  frame_.checked.push_back({value, upper, subscript});
  return subscript;
}

void ExpressionTranslator::check_place(IndexSite site, size_t buffer,
                                       const std::vector<ValuePtr> &subscripts) {
  const KernelBuffer &memory = state_.kernel.buffers.at(buffer);
  if (memory.name != site.array) {
    if (memory.is_argument) {
      // In another one's array: it fits where a schedule says so, and reaches out of that array
      // where the caller's arrays lie so (out= with a shift).
      return;
    }
    site.memory = memory.name;
  }
  const std::vector<ExprPtr> &origin = state_.program.buffers.at(buffer).origin;
  if (!state_.known) {
    state_.known = parameter_ranges(state_.program);
  }
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const ValuePtr &value = subscripts[d];
    const ValuePtr &upper = memory.extents.at(d);
    const bool known = std::any_of(
        frame_.checked.begin(), frame_.checked.end(), [&](const CheckedSubscript &checked) {
          return same_value(checked.subscript, value) && same_value(checked.upper, upper);
        });
    if (known || always_inside(value, upper, *state_.known, state_.definitions)) {
      continue;
    }
    site.dimension = static_cast<int>(d);
    site.from_origin = site.memory.empty() && state_.program.buffers.at(buffer).level == 0 &&
                       !is_zero(first_index(origin, d));
    state_.kernel.sites.push_back(site);
    emit(check_index(static_cast<std::int64_t>(state_.kernel.sites.size()) - 1, value, upper,
                     nullptr, instance()));
    frame_.checked.push_back({value, upper, value});
  }
}

void ExpressionTranslator::check_write(const std::vector<ValuePtr> &index) {
  if (!state_.instrumentation.bounds) {
    return;
  }
  const Computation &computation = *statement_.computation;
  IndexSite site = site_of_instance();
  site.writes = true;
  site.array = computation.name;
  site.text = computation.name + "[";
  for (size_t d = 0; d < computation.iterators.size(); ++d) {
    site.text += (d == 0 ? "" : ", ") + computation.iterators[d];
  }
  site.text += "]";
  check_place(std::move(site), statement_.buffer, index);
}

// ---- the first value that is no number ----

ValuePtr ExpressionTranslator::is_bad(const ValuePtr &value) const {
  const ScalarType type = value->type.scalar;
  if (type.is_complex()) {
    const ScalarType part = component_type(type);
    return either(is_bad(call_value(Op::Real, {value}, part)),
                  is_bad(call_value(Op::Imag, {value}, part)));
  }
  ValuePtr is_nan = binary_value(Op::Ne, value, value);
  if (!state_.instrumentation.infinities) {
    return is_nan;
  }
  const ValuePtr infinity = constant_of(std::numeric_limits<double>::infinity(), type);
  return either(is_nan, binary_value(Op::Eq, unary_value(Op::Abs, value), infinity));
}

std::shared_ptr<const Local> ExpressionTranslator::new_slot(const std::string &name,
                                                            ScalarType type) {
  const std::int64_t id = state_.numbers.next();
  prologue_.push_back(declare_local(id, name, zero_of(type)));
  return local(id, name, {type, 1});
}

ValuePtr ExpressionTranslator::trace_read(const Expr &access, const std::vector<ValuePtr> &element,
                                          ValuePtr value) {
  const bool counts = is_number_type(value->type.scalar);
  // Of a copy near the processor, the element that was copied.
  std::string array = access.producer->name;
  std::vector<ValuePtr> place = element;
  const Expr *copied = is_local(state_.program, array) ? copied_read(*access.producer) : nullptr;
  if (copied != nullptr &&
      std::all_of(copied->operands.begin(), copied->operands.end(),
                  [](const ExprPtr &subscript) { return subscript->kind == ExprKind::Iterator; })) {
    Environment iterators;
    for (size_t d = 0; d < element.size(); ++d) {
      iterators[access.producer->iterators[d]] = element[d];
    }
    array = copied->producer->name;
    place = translate_place(copied->operands, iterators);
  }
  if (nesting_ == 0) {
    traced_.push_back({std::move(array), std::move(place), value, nullptr});
    return value;
  }
  // What was read is kept beyond its branch or loop.
  const auto kept = new_slot("read", value->type.scalar);
  const auto seen = new_slot("seen", Bool);
  TracedRead read{std::move(array), {}, kept, seen};
  emit(assign_local(kept->id, "read", value));
  emit(assign_local(seen->id, "seen", boolean(true)));
  for (const ValuePtr &subscript : place) {
    const auto at = new_slot("at", Int64);
    read.subscripts.push_back(at);
    emit(assign_local(at->id, "at", subscript));
  }
  if (counts) {
    tainted_ = tainted_ ? tainted_ : new_slot("tainted", Bool);
    emit(assign_local(tainted_->id, "tainted", either(tainted_, is_bad(value))));
  }
  traced_.push_back(std::move(read));
  return value;
}

void ExpressionTranslator::check_number(const ValuePtr &value, const ValuePtr &before) {
  if (!is_number_type(value->type.scalar)) {
    return;
  }
  const Computation &computation = *statement_.computation;
  IndexSite site = site_of_instance();
  site.array = shown_name(state_.program, computation);
  site.text = site.array;
  site.is_complex = value->type.scalar.is_complex();
  ValuePtr fails = is_bad(value);
  const auto only_where_good = [&](const ValuePtr &bad) {
    fails = both(fails, unary_value(Op::Not, bad));
  };
  if (before) {
    only_where_good(is_bad(before));
  }
  if (tainted_) {
    only_where_good(tainted_);
  }
  std::vector<ValuePtr> reported = instance();
  report(value, reported);
  if (before) {
    site.reads.push_back({"", 0, site.is_complex});
    reported.push_back(integer(1));
    report(before, reported);
  }
  for (size_t r = 0; r < traced_.size(); ++r) {
    const TracedRead &read = traced_[r];
    const auto end = traced_.begin() + static_cast<std::ptrdiff_t>(r);
    const bool again = std::any_of(traced_.begin(), end, [&](const TracedRead &earlier) {
      return earlier.array == read.array && !earlier.seen && !read.seen &&
             std::equal(earlier.subscripts.begin(), earlier.subscripts.end(),
                        read.subscripts.begin(), read.subscripts.end(), same_value);
    });
    if (again) {
      continue;
    }
    const ScalarType type = read.value->type.scalar;
    if (!read.seen && is_number_type(type)) {
      only_where_good(is_bad(read.value));
    }
    site.reads.push_back({read.array, static_cast<int>(read.subscripts.size()), type.is_complex()});
    reported.push_back(read.seen ? cast_value(read.seen, Int64) : integer(1));
    reported.insert(reported.end(), read.subscripts.begin(), read.subscripts.end());
    report(read.value, reported);
  }
  state_.kernel.sites.push_back(std::move(site));
  emit(check_value(static_cast<std::int64_t>(state_.kernel.sites.size()) - 1, fails, nullptr,
                   std::move(reported)));
}

} // namespace tilewright
