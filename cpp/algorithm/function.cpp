#include "algorithm/function.h"

#include "algorithm/affine.h"
#include "algorithm/declaration_checks.h"
#include "algorithm/expression_depth.h"
#include "algorithm/function_extents.h"
#include "algorithm/small_quotients.h"
#include "algorithm/views.h"
#include "polyhedral/counted.h"
#include "polyhedral/set_text.h"

#include <isl/set.h>

#include <algorithm>
#include <array>
#include <atomic>

namespace tilewright {

namespace {

/// Extents may only use parameters.
void check_shape(const std::string &owner, const std::vector<ExprPtr> &extents,
                 const SourceLocation &where) {
  for (size_t d = 0; d < extents.size(); ++d) {
    if (extents[d] == nullptr || !to_affine(extents[d], IterationSpace{})) {
      throw Error(ErrorKind::Declaration,
                  "extent " + std::to_string(d) + " of " + owner +
                      " must be an integer expression that is affine in " + "parameters, got " +
                      (extents[d] == nullptr ? "nothing" : to_string(extents[d])),
                  where);
    }
  }
}

std::vector<std::string> input_iterators(const std::vector<ExprPtr> &extents) {
  static constexpr std::array<const char *, 6> usual = {"i", "j", "k", "l", "m", "n"};
  bool taken = extents.size() > usual.size();
  for (const ExprPtr &extent : extents) {
    visit(extent, [&](const ExprPtr &node) {
      taken = taken || (node->kind == ExprKind::Parameter &&
                        std::find(usual.begin(), usual.end(), node->name) != usual.end());
    });
  }
  std::vector<std::string> names;
  names.reserve(extents.size());
  for (size_t d = 0; d < extents.size(); ++d) {
    names.push_back(taken ? "dim" + std::to_string(d) : usual[d]);
  }
  return names;
}

void require_step(const Computation &computation, const Range &range) {
  if (range.step >= 1 && range.step <= largest_step && range.lower != nullptr) {
    return;
  }
  throw Error(ErrorKind::Declaration,
              "the step of " + range.iterator + " in " + computation.name + " must be 1 to " +
                  std::to_string(largest_step) + ", from a lower bound on, not " +
                  std::to_string(range.step),
              computation.where);
}

/// The values of a range over the iterators declared so far.
void constrain(Computation &computation, const Range &range, size_t position) {
  const IterationSpace space{computation.name, computation.iterators};
  const std::vector<std::string> earlier(computation.iterators.begin(),
                                         computation.iterators.begin() +
                                             static_cast<std::ptrdiff_t>(position));
  const ExprPtr self = iterator(range.iterator);
  for (const bool is_lower : {true, false}) {
    const ExprPtr &bound = is_lower ? range.lower : range.upper;
    if (bound == nullptr) {
      continue;
    }
    const std::string what = std::string(is_lower ? "the lower" : "the upper") + " bound of " +
                             range.iterator + " in " + computation.name;
    check_scopes(what, earlier, bound, computation.where);
    const auto side = compare(is_lower ? Op::Ge : Op::Lt, self, bound, space);
    if (!side) {
      throw Error(ErrorKind::Declaration,
                  what + " is not affine in parameters and earlier iterators: " + to_string(bound),
                  computation.where);
    }
    computation.domain = computation.domain.intersect(*side);
  }
  if (range.step != 1) {
    require_step(computation, range);
    computation.domain =
        computation.domain.intersect(stepped(self, range.lower, range.step, space).value());
    computation.strides.resize(computation.rank());
    computation.strides[position] = {range.lower, range.step};
  }
}

isl::set affine_condition(const Computation &computation, const ExprPtr &condition,
                          const SourceLocation &where) {
  check_scopes("the condition of " + computation.name, computation.iterators, condition, where);
  const auto set = to_set(condition, {computation.name, computation.iterators});
  if (!set) {
    throw Error(ErrorKind::Declaration,
                "the condition of " + computation.name +
                    " must be a comparison that is affine in parameters and iterators, got " +
                    to_string(condition) + "; use select(...) for a condition on values",
                where);
  }
  return *set;
}

/// What remains to be done when iterators, domain and context are set.
void finish(Computation &computation, const std::vector<Range> &ranges, bool is_box,
            std::vector<ExprPtr> extents) {
  const SourceLocation &where = computation.where;
  checked(computation.domain, "building the domain of a computation");
  check_parameters(computation.name, computation.iterators, computation.domain, where);
  if (extents.empty() && computation.rank() > 0) {
    derive_extents(computation, ranges, is_box, computation.context);
    return;
  }
  check_indices(computation, computation.context,
                "the array of a given shape begins at 0 (shape= may be left out)");
  if (extents.size() != computation.rank()) {
    throw Error(ErrorKind::Declaration,
                computation.name + " has " + counted(computation.rank(), "dimension") + ", but " +
                    std::to_string(extents.size()) + " extents were given",
                where);
  }
  check_shape(computation.name, extents, where);
  for (ExprPtr &extent : extents) {
    extent = cast(extent, Int64);
  }
  computation.extents = std::move(extents);
  check_extents(computation, computation.context);
}

/// A sum or product of integers that is cast to a narrower type, computed in that type: arithmetic
/// that wraps gives the same value, and a reduction at the root can be scheduled by its body.
ExprPtr with_narrow_reduction(const ExprPtr &value) {
  if (value->kind != ExprKind::Cast || value->operands.front()->kind != ExprKind::Reduce) {
    return value;
  }
  const Expr &reduction = *value->operands.front();
  const ScalarType type = value->type;
  const bool wraps = (reduction.op == Op::ReduceSum || reduction.op == Op::ReduceProd) &&
                     reduction.type.is_integer() && type.is_integer() &&
                     type.bits <= reduction.type.bits;
  if (!wraps) {
    return value;
  }
  ExprPtr body = reduction.operands.front();
  if (body->kind == ExprKind::Cast && body->operands.front()->type == type) {
    body = body->operands.front(); // it was only made wide
  }
  Expr narrow = reduction;
  narrow.type = type;
  narrow.operands = {cast(body, type)};
  return finished(std::move(narrow));
}

ExprPtr converted(const Computation &computation, const ExprPtr &value,
                  const SourceLocation &where) {
  if (value->type == computation.type) {
    return with_narrow_reduction(value);
  }
  if (can_cast_same_kind(value->type, computation.type)) {
    return with_narrow_reduction(cast(value, computation.type));
  }
  throw Error(ErrorKind::Type,
              computation.name + " has type " + type_name(computation.type) + ", but its value " +
                  to_string(value) + " has type " + type_name(value->type) +
                  ", which NumPy's same_kind rule does not convert; write an "
                  "explicit cast",
              where);
}

/// `context` and that of everything that `value` reads.
isl::set context_with_producers(isl::set context, const ExprPtr &value) {
  std::vector<const Computation *> seen;
  visit(value, [&](const ExprPtr &node) {
    const Computation *producer = node->kind == ExprKind::Access ? node->producer.get() : nullptr;
    if (producer != nullptr && std::find(seen.begin(), seen.end(), producer) == seen.end()) {
      seen.push_back(producer);
      context = context.intersect(producer->context);
    }
  });
  return checked(context, "building the context of the parameters");
}

/// `mentioned`: the expressions that were written with the piece.
void add_piece(Computation &computation, const isl::set &domain, const ExprPtr &value,
               const std::vector<ExprPtr> &mentioned, const SourceLocation &where) {
  require_stack(value);
  check_scopes(computation.name, computation.iterators, value, where);
  Piece piece{checked(domain, "building the domain of a piece"),
              converted(computation, value, where), where};
  check_parameters(computation.name, computation.iterators, piece.domain, where);
  const isl::set own = computation.context.intersect(parameter_context(mentioned));
  const isl::set context = context_with_producers(own, piece.value);
  piece.value =
      with_small_quotients(computation, piece.value, piece.domain.intersect_params(context));
  for (const Piece &earlier : computation.pieces) {
    check_overlap(computation, earlier, piece, context);
  }
  check_reads(computation, piece, context, Readable::Declared);
  // Changed only once everything holds: a refused piece leaves no trace.
  computation.context = own;
  computation.pieces.push_back(std::move(piece));
}

/// A piece; of a view one for each read.
void add_pieces(Computation &computation, const isl::set &domain, const ExprPtr &value,
                const std::vector<ExprPtr> &mentioned, const SourceLocation &where) {
  if (!computation.is_view) {
    add_piece(computation, domain, value, mentioned, where);
    return;
  }
  require_stack(value);
  check_scopes(computation.name, computation.iterators, value, where);
  const size_t before = computation.pieces.size();
  try {
    for (const auto &[part, read] : parts_of_view(computation, domain, value, where)) {
      add_piece(computation, part, read, mentioned, where);
    }
  } catch (...) {
    computation.pieces.resize(before); // all of them or none
    throw;
  }
}

void require_computation(const ComputationPtr &computation, const ExprPtr &value,
                         const SourceLocation &where) {
  if (computation == nullptr || value == nullptr) {
    throw Error(ErrorKind::Declaration, "a piece needs a computation and a value", where);
  }
  if (computation->is_input) {
    throw Error(ErrorKind::Declaration,
                computation->name + " is an input: it cannot be given an expression", where);
  }
}

std::atomic<std::uint64_t> latest_ordinal = 0;

} // namespace

void pass_input_ordinal(std::uint64_t ordinal) {
  std::uint64_t latest = latest_ordinal.load();
  while (latest < ordinal && !latest_ordinal.compare_exchange_weak(latest, ordinal)) {
  }
}

void make_view(const ComputationPtr &computation) { computation->is_view = true; }

ComputationPtr declare_input(const std::string &name, std::vector<ExprPtr> extents, ScalarType type,
                             SourceLocation where) {
  const OperationLimit limit(declaration_operation_limit);
  check_name(name, "input", where);
  check_shape(name, extents, where);
  auto input = make_isl_shared<Computation>();
  input->name = name;
  input->type = type;
  input->is_input = true;
  input->ordinal = ++latest_ordinal;
  input->iterators = input_iterators(extents);
  input->context = parameter_context(extents);
  const IterationSpace space{name, input->iterators};
  input->domain = isl::set::universe(space.space());
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  for (size_t d = 0; d < extents.size(); ++d) {
    extents[d] = cast(extents[d], Int64);
    const ExprPtr index = iterator(input->iterators[d]);
    input->domain = input->domain.intersect(compare(Op::Ge, index, zero, space).value());
    input->domain = input->domain.intersect(compare(Op::Lt, index, extents[d], space).value());
  }
  checked(input->domain, "building the domain of an input");
  input->extents = std::move(extents);
  input->where = std::move(where);
  return input;
}

ComputationPtr declare_computation(const std::string &name, const std::vector<Range> &ranges,
                                   const ExprPtr &condition, ScalarType type,
                                   std::vector<ExprPtr> extents, SourceLocation where) {
  const OperationLimit limit(declaration_operation_limit);
  check_name(name, "computation", where);
  auto computation = make_isl_shared<Computation>();
  computation->name = name;
  computation->type = type;
  computation->where = std::move(where);
  for (const Range &range : ranges) {
    computation->iterators.push_back(range.iterator);
  }
  check_iterators(name, computation->iterators, computation->where);

  std::vector<ExprPtr> mentioned = extents;
  mentioned.push_back(condition);
  computation->domain = isl::set::universe(IterationSpace{name, computation->iterators}.space());
  bool is_box = condition == nullptr;
  bool is_bounded = true;
  for (size_t d = 0; d < ranges.size(); ++d) {
    constrain(*computation, ranges[d], d);
    is_bounded = is_bounded && ranges[d].lower != nullptr && ranges[d].upper != nullptr;
    for (const ExprPtr &bound : {ranges[d].lower, ranges[d].upper}) {
      mentioned.push_back(bound);
      if (bound != nullptr) {
        visit(bound,
              [&](const ExprPtr &node) { is_box = is_box && node->kind != ExprKind::Iterator; });
      }
    }
  }
  if (condition != nullptr) {
    computation->domain = computation->domain.intersect(
        affine_condition(*computation, condition, computation->where));
  }
  computation->context = parameter_context(mentioned);
  checked(computation->domain, "building the domain of a computation");
  if (!is_bounded) {
    check_bounded(name, computation->iterators, computation->domain, computation->where);
  }
  finish(*computation, ranges, is_box, std::move(extents));
  return computation;
}

ComputationPtr declare_computation(const std::string &isl_text, ScalarType type,
                                   std::vector<ExprPtr> extents, SourceLocation where) {
  const OperationLimit limit(declaration_operation_limit);
  const isl::set domain = read_set(isl_text, "the domain of a computation", where);
  const char *tuple = isl_set_is_params(domain.get()) == isl_bool_true
                          ? nullptr
                          : isl_set_get_tuple_name(domain.get());
  if (tuple == nullptr || isl_set_is_wrapping(domain.get()) == isl_bool_true) {
    throw Error(ErrorKind::Declaration,
                "the domain \"" + isl_text +
                    "\" must name its computation, as C does in \"{ C[i,j] : ... }\"",
                where);
  }
  auto computation = make_isl_shared<Computation>();
  computation->name = tuple;
  computation->type = type;
  computation->where = std::move(where);
  check_name(computation->name, "computation", computation->where);
  for (isl_size d = 0; d < isl_set_dim(domain.get(), isl_dim_set); ++d) {
    const char *dimension =
        isl_set_get_dim_name(domain.get(), isl_dim_set, static_cast<unsigned>(d));
    if (dimension == nullptr) {
      throw Error(ErrorKind::Declaration,
                  "dimension " + std::to_string(d) + " of the domain \"" + isl_text +
                      "\" has no name; write an iterator there and constrain it after the colon",
                  computation->where);
    }
    computation->iterators.emplace_back(dimension);
  }
  check_iterators(computation->name, computation->iterators, computation->where);
  computation->domain = domain;
  computation->context = parameter_context(extents);
  check_bounded(computation->name, computation->iterators, domain, computation->where);
  finish(*computation, {}, false, std::move(extents));
  return computation;
}

void define_piece(const ComputationPtr &computation, const ExprPtr &condition, const ExprPtr &value,
                  SourceLocation where) {
  const OperationLimit limit(declaration_operation_limit);
  require_computation(computation, value, where);
  isl::set domain = computation->domain;
  if (condition != nullptr) {
    domain = domain.intersect(affine_condition(*computation, condition, where));
  }
  add_pieces(*computation, domain, value, {value, condition}, where);
}

void define_piece_isl(const ComputationPtr &computation, const std::string &isl_set_text,
                      const ExprPtr &value, SourceLocation where) {
  const OperationLimit limit(declaration_operation_limit);
  require_computation(computation, value, where);
  const isl::set given = read_set(isl_set_text, "a piece of " + computation->name, where);
  const bool is_parameters = isl_set_is_params(given.get()) == isl_bool_true;
  const char *tuple = is_parameters ? nullptr : isl_set_get_tuple_name(given.get());
  const size_t rank =
      is_parameters ? 0 : static_cast<size_t>(isl_set_dim(given.get(), isl_dim_set));
  if (tuple == nullptr || computation->name != tuple || rank != computation->rank()) {
    throw Error(ErrorKind::Declaration,
                "a piece of " + computation->name + " must be a set of " + computation->name +
                    " with " + counted(computation->rank(), "dimension") + ", got \"" +
                    isl_set_text + "\"",
                where);
  }
  // The computation's own iterator names, whatever the text calls its dimensions.
  isl_set *renamed = given.copy();
  for (size_t d = 0; d < rank; ++d) {
    isl_id *id = isl_id_alloc(isl_context().get(), computation->iterators[d].c_str(), nullptr);
    renamed = isl_set_set_dim_id(renamed, isl_dim_set, static_cast<unsigned>(d), id);
  }
  const isl::set domain = checked(isl::manage(renamed), "reading the domain of a piece");
  Point point;
  if (sample_point(domain.subtract(computation->domain).intersect_params(computation->context),
                   point)) {
    const std::string at = instance_text(computation->name, point.coordinates);
    const std::string parameters = parameter_text(point);
    throw Error(ErrorKind::Declaration,
                "a piece of " + computation->name + " holds " + at +
                    (parameters.empty() ? "" : " (" + parameters + ")") +
                    ", which is outside its domain " + braced_text(computation->domain),
                where);
  }
  add_pieces(*computation, domain, value, {value}, where);
}

} // namespace tilewright
