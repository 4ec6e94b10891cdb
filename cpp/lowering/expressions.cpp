#include "lowering/expressions.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "algorithm/extern_function.h"
#include "algorithm/function.h"
#include "algorithm/predicates.h"
#include "loops/traverse.h"
#include "lowering/certain_sums.h"
#include "lowering/expression_forms.h"
#include "lowering/parameter_ranges.h"
#include "mapping/footprint.h"
#include "polyhedral/interruption.h"

#include <isl/aff.h>

#include <algorithm>
#include <utility>

namespace tilewright {

namespace {

/// Branches within branches may need a value again and again; code that grows like this ends here.
constexpr std::int64_t max_translations = 300'000;

} // namespace

ExpressionTranslator::ExpressionTranslator(TranslationState &state, const Statement &statement,
                                           Environment iterators)
    : state_(state), statement_(statement) {
  frame_.iterators = std::move(iterators);
  frame_.names = statement.iterators;
  frame_.domain = statement.domain;
  is_traced_ = traces(statement);
}

std::vector<StmtPtr> ExpressionTranslator::take_statements() {
  return std::exchange(frame_.statements, {});
}

void ExpressionTranslator::count_uses(const ExprPtr &root) {
  if (++uses_[root.get()] > 1) {
    return;
  }
  count_visit();
  for (const ExprPtr &operand : root->operands) {
    count_uses(operand);
  }
}

ValuePtr ExpressionTranslator::translate(const ExprPtr &given) {
  count_visit();
  if (++translations_ > max_translations) {
    throw Error(ErrorKind::Limit,
                "the code of '" + statement_.name +
                    "' would be too large: conditions inside conditions need the same values in "
                    "many branches; compute parts in computations of their own",
                statement_.computation->where);
  }
  const ExprPtr &expr = flat(given);
  if (!uses_.contains(expr.get())) {
    count_uses(expr);
    note_certain_sums(expr, certain_sums_);
  }
  const auto found = frame_.done.find(expr.get());
  if (found != frame_.done.end()) {
    return found->second;
  }
  ValuePtr value = compute(expr);
  if (uses_[expr.get()] > 1) {
    if (is_worth_a_local(expr) && !is_named(*value)) {
      const std::int64_t id = state_.numbers.next();
      emit(declare_local(id, "value", value));
      state_.definitions.emplace(id, value);
      value = local(id, "value", value->type);
    }
    frame_.done.emplace(expr.get(), value);
  }
  return value;
}

ExprPtr ExpressionTranslator::flat(const ExprPtr &expr) {
  if (expr->type != Int64 || tree_size_of(expr) <= largest_copied) {
    return expr;
  }
  // Kept: values are remembered by the address of their expression.
  const auto [known, is_new] = flat_.try_emplace(expr.get());
  if (is_new) {
    known->second = flattened(expr, {statement_.name, frame_.names});
  }
  return known->second;
}

ValuePtr ExpressionTranslator::compute(const ExprPtr &expr) {
  switch (expr->kind) {
  case ExprKind::Constant:
    return constant_of(expr->value, expr->type);
  case ExprKind::Parameter:
    return value_of_parameter(expr->name, state_.program.parameters, state_.program.fixed);
  case ExprKind::Iterator: {
    const auto found = frame_.iterators.find(expr->name);
    if (found == frame_.iterators.end()) {
      throw Error(ErrorKind::Internal,
                  "iterator '" + expr->name + "' is not one of '" + statement_.name + "'");
    }
    return found->second;
  }
  case ExprKind::Access:
    return translate_access(*expr);
  case ExprKind::Select:
    return translate_select(*expr);
  case ExprKind::Reduce:
    return expr->op == Op::ReduceArgMin || expr->op == Op::ReduceArgMax
               ? translate_argument_reduce(expr)
               : translate_reduce(expr);
  case ExprKind::WhileResult:
    return translate_while(expr->operands[0]).at(expr->position);
  case ExprKind::Fold:
    return translate_fold(*expr).at(expr->position);
  case ExprKind::Extern:
    return translate_extern(*expr);
  case ExprKind::Checked:
    return translate_checked(*expr);
  case ExprKind::State: {
    const auto found = states_.find(expr.get());
    if (found == states_.end()) {
      throw Error(ErrorKind::Internal, "state '" + expr->name + "' is read outside of its loop");
    }
    return found->second;
  }
  default:
    break;
  }
  std::vector<ValuePtr> operands;
  for (const ExprPtr &operand : expr->operands) {
    operands.push_back(translate(operand));
  }
  return apply_node(*expr, operands);
}

ValuePtr ExpressionTranslator::translate_extern(const Expr &expr) {
  if (expr.external->block) {
    return translate_block(expr);
  }
  std::vector<ValuePtr> arguments;
  for (const ExprPtr &operand : expr.operands) {
    arguments.push_back(translate(operand));
  }
  // A statement of its own: it runs where the conditions around it hold.
  const std::int64_t id = state_.numbers.next();
  const std::string &name = expr.external->name;
  emit(declare_local(id, name, extern_value(expr.external, std::move(arguments))));
  return local(id, name, {expr.type, 1});
}

bool ExpressionTranslator::is_affine(const ExprPtr &expr) const {
  if (is_plainly_affine(expr)) {
    return true;
  }
  if (contains(expr, {ExprKind::Access, ExprKind::Reduce, ExprKind::While, ExprKind::Extern,
                      ExprKind::Checked})) {
    return false;
  }
  return to_affine(expr, {statement_.name, frame_.names}).has_value();
}

ValuePtr ExpressionTranslator::translate_access(const Expr &expr) {
  const auto found = state_.program.places.find(expr.producer->name);
  if (found == state_.program.places.end()) {
    throw Error(ErrorKind::Internal, "'" + expr.producer->name + "' has no place in memory");
  }
  Environment element;
  std::vector<ValuePtr> values;
  for (size_t d = 0; d < expr.operands.size(); ++d) {
    ValuePtr value = cast_value(translate(expr.operands[d]), Int64);
    if (!is_affine(expr.operands[d])) {
      value = checked_subscript(expr, d, value);
    }
    element[expr.producer->iterators.at(d)] = value;
    values.push_back(std::move(value));
  }
  const size_t buffer = expr.position == 0
                            ? found->second.buffer
                            : state_.program.states.at(expr.producer->name).at(expr.position - 1);
  std::vector<ValuePtr> subscripts = translate_place(found->second.index, element);
  const KernelBuffer &memory = state_.kernel.buffers.at(buffer);
  if (state_.instrumentation.bounds) {
    IndexSite site = site_of_instance();
    site.array = expr.producer->name;
    site.text = expr.producer->name + "[";
    for (size_t d = 0; d < expr.operands.size(); ++d) {
      site.text += (d == 0 ? "" : ", ") + to_string(expr.operands[d]);
    }
    site.text += "]";
    check_place(std::move(site), buffer, subscripts);
  }
  ValuePtr value =
      load(static_cast<std::int64_t>(buffer), memory.name, {memory.type, 1}, std::move(subscripts));
  if (is_traced_ && expr.position == 0) {
    value = trace_read(expr, values, value);
  }
  return cast_value(value, expr.type);
}

ValuePtr ExpressionTranslator::outer_loop(const std::string &name) {
  if (const auto known = frame_.iterators.find(name); known != frame_.iterators.end()) {
    return known->second;
  }
  for (size_t level = 0; level < statement_.loops.size(); ++level) {
    if (name == outer_loop_name(level)) {
      // Kept: translate() remembers values by the address of their expression.
      ExprPtr &value = outer_loops_[name];
      if (value == nullptr) {
        value = from_affine(statement_.loops[level], statement_.iterators);
      }
      return translate(value);
    }
  }
  throw Error(ErrorKind::Internal, "there is no outer loop '" + name + "'");
}

std::vector<ValuePtr> ExpressionTranslator::translate_place(const std::vector<ExprPtr> &index,
                                                            const Environment &iterators) {
  const auto leaf = [&](const ExprPtr &expr) -> ValuePtr {
    if (expr->kind == ExprKind::Iterator) {
      const auto found = iterators.find(expr->name);
      if (found == iterators.end() && expr->name.starts_with('@')) {
        return outer_loop(expr->name);
      }
      if (found == iterators.end()) {
        throw Error(ErrorKind::Internal,
                    "iterator '" + expr->name + "' of a subscript is not known");
      }
      return found->second;
    }
    return is_leaf(*expr) ? compute(expr) : nullptr;
  };
  std::vector<ValuePtr> values;
  values.reserve(index.size());
  for (const ExprPtr &expr : index) {
    values.push_back(cast_value(applied(expr, leaf), Int64));
  }
  return values;
}

bool ExpressionTranslator::always_in_bounds(const Expr &access) const {
  if (frame_.domain.is_null()) {
    return false;
  }
  const IterationSpace space{statement_.name, frame_.names};
  const Program::Place &place = state_.program.places.at(access.producer->name);
  const Buffer &buffer = state_.program.buffers.at(place.buffer);
  const isl::set inside = frame_.domain.intersect_params(state_.program.context);
  const std::vector<ExprPtr> index = index_of_read(access, place);
  for (size_t d = 0; d < index.size(); ++d) {
    const auto value = to_affine(index[d], space);
    const auto extent = to_affine(buffer.extents.at(d), space);
    if (!value || !extent) {
      return false;
    }
    const isl::set good =
        value->lt_set(*extent).intersect(isl::manage(isl_pw_aff_nonneg_set(value->copy())));
    if (!checked(inside.is_subset(good), "checking that a guarded read is in bounds")) {
      return false;
    }
  }
  return true;
}

bool ExpressionTranslator::always_readable(const ExprPtr &expr) {
  if (is_traced_ && contains(expr, {ExprKind::Access})) {
    return false; // only what is read of the branch taken counts
  }
  // Guards do not count, so the answer is the same everywhere in a frame.
  if (const auto known = frame_.readable.find(expr.get()); known != frame_.readable.end()) {
    return known->second;
  }
  bool answer = expr->kind != ExprKind::Reduce && expr->kind != ExprKind::While &&
                expr->kind != ExprKind::Extern && expr->kind != ExprKind::Checked;
  if (expr->kind == ExprKind::Access) {
    answer = std::all_of(expr->operands.begin(), expr->operands.end(),
                         [&](const ExprPtr &e) { return is_affine(e); }) &&
             always_in_bounds(*expr);
  } else {
    answer = answer && std::all_of(expr->operands.begin(), expr->operands.end(),
                                   [&](const ExprPtr &e) { return always_readable(e); });
  }
  frame_.readable.emplace(expr.get(), answer);
  return answer;
}

StmtPtr ExpressionTranslator::scoped(const std::function<void()> &body) {
  std::vector<StmtPtr> outer = std::exchange(frame_.statements, {});
  auto done = frame_.done;
  auto loops = frame_.loops;
  const size_t checked = frame_.checked.size();
  ++nesting_;
  body();
  --nesting_;
  frame_.checked.resize(checked);
  frame_.done = std::move(done);
  frame_.loops = std::move(loops);
  return block(std::exchange(frame_.statements, std::move(outer)));
}

void ExpressionTranslator::guarded(const ExprPtr &condition, const std::function<void()> &body) {
  if (!condition) {
    body();
    return;
  }
  guarded(conjuncts_of(condition), body);
}

void ExpressionTranslator::guarded(std::span<const ExprPtr> conjuncts,
                                   const std::function<void()> &body) {
  ValuePtr holds = translate(conjuncts.front());
  const auto others = conjuncts.subspan(1);
  StmtPtr inside = scoped([&] { others.empty() ? body() : guarded(others, body); });
  // What takes no statements of its own cannot fail, and is asked in the same test.
  if (const auto *next = as<If>(inside); next != nullptr && !others.empty()) {
    holds = both(holds, next->condition);
    inside = StmtPtr(next->then());
  }
  emit(if_then(holds, inside));
}

void ExpressionTranslator::reduce_loops(const Expr &reduce, const std::function<void()> &body) {
  Frame outer = std::move(frame_);
  frame_ = {};
  frame_.iterators = outer.iterators;
  frame_.names = outer.names;
  bool shadows = false;
  for (const ReduceRange &range : reduce.ranges) {
    shadows = shadows || frame_.iterators.contains(range.iterator);
  }
  if (!shadows && !outer.domain.is_null()) {
    frame_.domain = reduction_domain(reduce, outer.domain, outer.names, {});
  }
  struct Loop {
    std::int64_t id;
    std::string name;
    ValuePtr lower;
    ValuePtr upper;
    std::vector<StmtPtr> before; ///< what the bounds need
  };
  std::vector<Loop> loops;
  for (const ReduceRange &range : reduce.ranges) {
    Loop loop{
        state_.numbers.next(), range.iterator, translate(range.lower), translate(range.upper), {}};
    ValuePtr value = variable(loop.id, loop.name);
    if (range.step != 1) { // loops count their iterations
      const ValuePtr step = integer(range.step);
      value = add(loop.lower, mul(step, value));
      const ValuePtr distance = add(sub(loop.upper, loop.lower), integer(range.step - 1));
      loop.upper = floor_div(distance, step);
      loop.lower = integer(0);
    }
    loop.before = take_statements();
    frame_.iterators[range.iterator] = std::move(value);
    frame_.names.push_back(range.iterator);
    frame_.done.clear();
    loops.push_back(std::move(loop));
  }
  if (!shadows) { // sums that are known outside, where these loops have no iterators
    for (const auto &[known, value] : outer.done) {
      if (known->kind == ExprKind::Reduce && is<Local>(value)) {
        frame_.done.emplace(known, value);
      }
    }
  }
  ++nesting_;
  guarded(reduce.condition, [&] { guarded(reduce.predicate, body); });
  --nesting_;
  StmtPtr statement = block(take_statements());
  for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
    std::vector<StmtPtr> nest = std::move(loop->before);
    nest.push_back(
        for_loop(loop->id, loop->name, loop->lower, loop->upper, LoopKind::Serial, 0, statement));
    statement = block(std::move(nest));
  }
  frame_ = std::move(outer);
  emit(statement);
}

/// Whether instances of a statement run in the lanes of a vector: some of its sums have a term of
/// each at a time then, and all have to be added in that order.
static bool has_lanes(const Statement &statement) {
  return std::any_of(statement.tags.begin(), statement.tags.end(),
                     [](const LoopTag &tag) { return tag.tag == Tag::Vector; });
}

ValuePtr ExpressionTranslator::translate_reduce(const ExprPtr &expr) {
  if (nesting_ == 0) { // the largest term, in a sum of what is left of each: once, before the loop
    std::vector<ExprPtr> before;
    visit(expr->operands[0], [&](const ExprPtr &node) {
      if (certain_sums_.contains(node.get())) {
        before.push_back(node);
      }
    });
    for (const ExprPtr &sum : before) {
      translate(sum);
    }
  }
  const std::int64_t id = state_.numbers.next();
  const std::string name = op_name(expr->op);
  const ExprPtr identity = reduction_identity(expr->op, expr->type);
  emit(declare_local(id, name, constant_of(identity->value, identity->type)));
  const ValuePtr sum = local(id, name, {expr->type, 1});
  reduce_loops(*expr, [&] {
    const ValuePtr term = cast_value(translate(expr->operands[0]), expr->type);
    const ValuePtr next = binary_value(reduction_combiner(expr->op), sum, term);
    if (is_traced_) {
      check_number(next, sum);
    }
    // What is added in order is rounded twice: an update may take its product as it is.
    const Op update = expr->ordered ? Op::None : reduction_combiner(expr->op);
    const StmtPtr added = assign_local(id, name, next, update);
    if (expr->op == Op::ReduceSum && !expr->ordered && !has_lanes(statement_)) {
      const auto sums = std::static_pointer_cast<AssignLocal>(copy_statement(*added));
      sums->any_order = true;
      emit(sums);
    } else {
      emit(added);
    }
  });
  return sum;
}

const std::vector<ValuePtr> &ExpressionTranslator::translate_while(const ExprPtr &expr) {
  if (const auto found = frame_.loops.find(expr.get()); found != frame_.loops.end()) {
    return found->second;
  }
  const WhileParts parts = while_parts(*expr);
  std::vector<ValuePtr> initial;
  for (const ExprPtr &value : parts.initial) {
    initial.push_back(translate(value));
  }
  ValuePtr limit;
  if (parts.limit) {
    limit = translate(parts.limit);
    if (!limit->operands.empty()) {
      const std::int64_t id = state_.numbers.next();
      emit(declare_local(id, "limit", limit));
      limit = local(id, "limit", {Int64, 1});
    }
  }
  const States states = declare_states(expr->states, initial);
  std::shared_ptr<const Local> count;
  if (limit) {
    const std::int64_t id = state_.numbers.next();
    emit(declare_local(id, "count", integer(0)));
    count = local(id, "count", {Int64, 1});
  }
  const ValuePtr below = count ? binary_value(Op::Lt, count, limit) : boolean(true);
  const auto iterate = [&] {
    assign_states(states, parts.next);
    if (count) {
      emit(assign_local(count->id, "count", add(count, integer(1))));
    }
  };
  ValuePtr condition;
  const StmtPtr before = scoped([&] { condition = translate(parts.condition); });
  if (is_empty(before)) {
    emit(while_loop(both(below, condition), scoped(iterate)));
  } else {
    // The condition takes statements of its own.
    const std::int64_t id = state_.numbers.next();
    const ValuePtr running = local(id, "running", {Bool, 1});
    emit(declare_local(id, "running", boolean(true)));
    const StmtPtr step = scoped([&] {
      emit(assign_local(id, "running", translate(parts.condition)));
      emit(if_then(running, scoped(iterate)));
    });
    emit(while_loop(both(below, running), step));
  }
  return frame_.loops[expr.get()] = {states.begin(), states.end()};
}

void ExpressionTranslator::set_state(const ExprPtr &state, ValuePtr value) {
  states_[state.get()] = std::move(value);
}

ExpressionTranslator::States
ExpressionTranslator::declare_states(const std::vector<ExprPtr> &states,
                                     const std::vector<ValuePtr> &initial) {
  States locals;
  for (size_t k = 0; k < states.size(); ++k) {
    const Expr &variable = *states[k];
    const std::int64_t id = state_.numbers.next();
    emit(declare_local(id, variable.name, initial[k]));
    locals.push_back(local(id, variable.name, {variable.type, 1}));
    set_state(states[k], locals.back());
  }
  return locals;
}

const std::vector<ValuePtr> &ExpressionTranslator::translate_fold(const Expr &fold) {
  const Expr &reduction = *fold.operands.front();
  if (const auto found = frame_.loops.find(&reduction); found != frame_.loops.end()) {
    return found->second;
  }
  std::vector<ValuePtr> initial;
  for (const ExprPtr &value : initial_values(fold)) {
    initial.push_back(translate(value));
  }
  const FoldParts parts = fold_parts(reduction);
  const States states = declare_states(parts.states, initial);
  reduce_loops(reduction, [&] { assign_states(states, parts.next); });
  return frame_.loops[&reduction] = {states.begin(), states.end()};
}

void ExpressionTranslator::assign_states(const States &states, const std::vector<ExprPtr> &values) {
  std::vector<ValuePtr> next;
  for (const ExprPtr &value : values) {
    next.push_back(translate(value));
  }
  // All change at once: a value that reads a state assigned before it is computed first.
  for (size_t k = 0; k < states.size(); ++k) {
    bool reads = false;
    visit_value(next[k], [&](const Value &value) {
      const auto *own = as<Local>(value);
      for (size_t earlier = 0; earlier < k; ++earlier) {
        reads = reads || (own != nullptr && own->id == states[earlier]->id);
      }
    });
    if (reads) {
      const std::int64_t id = state_.numbers.next();
      emit(declare_local(id, "next", next[k]));
      next[k] = local(id, "next", next[k]->type);
    }
  }
  for (size_t k = 0; k < states.size(); ++k) {
    if (!same_value(next[k], states[k])) {
      emit(assign_local(states[k]->id, states[k]->name, next[k]));
    }
  }
}

ValuePtr ExpressionTranslator::translate_argument_reduce(const ExprPtr &expr) {
  if (expr->ranges.size() != 1) {
    throw Error(ErrorKind::Internal, "an argmin or argmax over more than one iterator");
  }
  const ScalarType body_type = expr->operands[0]->type;
  const std::int64_t best_id = state_.numbers.next();
  const std::int64_t where_id = state_.numbers.next();
  emit(declare_local(best_id, "best", zero_of(body_type)));
  emit(declare_local(where_id, "at", integer(-1)));
  const ValuePtr best = local(best_id, "best", {body_type, 1});
  const ValuePtr where = local(where_id, "at", {Int64, 1});
  reduce_loops(*expr, [&] {
    const std::int64_t value_id = state_.numbers.next();
    emit(declare_local(value_id, "value", translate(expr->operands[0])));
    const ValuePtr value = local(value_id, "value", {body_type, 1});
    const Op better_op = expr->op == Op::ReduceArgMin ? Op::Lt : Op::Gt;
    ValuePtr better =
        either(binary_value(Op::Lt, where, integer(0)), binary_value(better_op, value, best));
    if (body_type.is_floating()) {
      // NumPy: the first NaN is the extremum.
      const ValuePtr first_nan =
          both(binary_value(Op::Ne, value, value), binary_value(Op::Eq, best, best));
      better = either(better, first_nan);
    }
    const ValuePtr position = frame_.iterators.at(expr->ranges[0].iterator);
    emit(if_then(better, block({assign_local(best_id, "best", value),
                                assign_local(where_id, "at", position)})));
  });
  return cast_value(where, expr->type);
}

} // namespace tilewright
