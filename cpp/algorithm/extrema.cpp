#include "algorithm/extrema.h"

#include "algorithm/expression_depth.h"
#include "algorithm/expression_key.h"
#include "algorithm/function_copy.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilewright {

namespace {

constexpr std::array extrema = {Op::ReduceArgMin, Op::ReduceArgMax};

/// No iterator comes behind it: the position of what is no term.
ExprPtr nowhere() { return constant(std::numeric_limits<std::int64_t>::max(), Int64); }

ExprPtr both(const ExprPtr &a, const ExprPtr &b) { return binary(Op::And, a, b); }
ExprPtr either(const ExprPtr &a, const ExprPtr &b) { return binary(Op::Or, a, b); }

/// An extremum with its position: the first state and the others.
struct Extremum {
  ExprPtr value;
  std::vector<ExprPtr> position;
};

/// Is `a` before `b`, in lexicographic order?
ExprPtr is_before(const std::vector<ExprPtr> &a, const std::vector<ExprPtr> &b) {
  ExprPtr before = binary(Op::Lt, a.back(), b.back());
  for (size_t d = a.size() - 1; d-- > 0;) {
    before = either(binary(Op::Lt, a[d], b[d]), both(binary(Op::Eq, a[d], b[d]), before));
  }
  return before;
}

/// Does `other` count, and not `best`?
ExprPtr is_better(Op op, const Extremum &other, const Extremum &best) {
  const ExprPtr before = is_before(other.position, best.position);
  const ExprPtr beyond = binary(op == Op::ReduceArgMin ? Op::Lt : Op::Gt, other.value, best.value);
  ExprPtr better = either(beyond, both(binary(Op::Eq, other.value, best.value), before));
  if (!other.value->type.is_floating()) {
    return better;
  }
  const ExprPtr is_nan = binary(Op::Ne, other.value, other.value);
  const ExprPtr is_first = either(binary(Op::Eq, best.value, best.value), before);
  return either(better, both(is_nan, is_first));
}

std::vector<ExprPtr> chosen(Op op, const Extremum &other, const Extremum &best) {
  const ExprPtr better = is_better(op, other, best);
  std::vector<ExprPtr> next = {select(better, other.value, best.value)};
  for (size_t d = 0; d < best.position.size(); ++d) {
    next.push_back(select(better, other.position[d], best.position[d]));
  }
  return next;
}

Extremum declared(const std::string &prefix, ScalarType type,
                  const std::vector<ReduceRange> &ranges, std::vector<ExprPtr> &states) {
  Extremum extremum{state(prefix + "best", type), {}};
  states.push_back(extremum.value);
  for (const ReduceRange &range : ranges) {
    extremum.position.push_back(state(prefix + "at_" + range.iterator, Int64));
    states.push_back(extremum.position.back());
  }
  return extremum;
}

/// All of an expression, innermost first.
ExprPtr with_folds(const ExprPtr &node, std::unordered_map<const Expr *, ExprPtr> &done) {
  if (const auto found = done.find(node.get()); found != done.end()) {
    return found->second;
  }
  count_visit();
  std::vector<ExprPtr> operands;
  for (const ExprPtr &operand : node->operands) {
    operands.push_back(with_folds(operand, done));
  }
  ExprPtr result = with_operands(node, std::move(operands));
  if (node->predicate) {
    result = with_predicate(result, with_folds(node->predicate, done));
  }
  if (node->op == Op::ReduceArgMin || node->op == Op::ReduceArgMax) {
    result = position_of_extremum(result->op, result->ranges, result->operands.front(),
                                  result->condition, result->predicate)
                 .front();
  }
  done.emplace(node.get(), result);
  return result;
}

bool has_extrema(const ExprPtr &value) {
  bool found = false;
  if (contains_kind(value, ExprKind::Reduce)) {
    visit(value, [&](const ExprPtr &node) {
      found = found || node->op == Op::ReduceArgMin || node->op == Op::ReduceArgMax;
    });
  }
  return found;
}

} // namespace

std::vector<ExprPtr> position_of_extremum(Op op, const std::vector<ReduceRange> &ranges,
                                          const ExprPtr &body, const ExprPtr &condition,
                                          const ExprPtr &predicate) {
  if (ranges.empty() || body->type.is_complex()) {
    const size_t several = std::min<size_t>(1, ranges.size());
    return {reduce(op, {ranges.begin(), ranges.begin() + several}, body)}; // refused there
  }
  const ScalarType type = body->type.is_bool() ? UInt8 : body->type;
  const Op extremum = op == Op::ReduceArgMin ? Op::ReduceMin : Op::ReduceMax;
  FoldParts parts;
  std::vector<ExprPtr> initial = {reduction_identity(extremum, type)};
  const Extremum best = declared("", type, ranges, parts.states);
  const Extremum other = declared("other_", type, ranges, parts.others);
  Extremum term{cast(body, type), {}};
  for (const ReduceRange &range : ranges) {
    term.position.push_back(iterator(range.iterator));
    initial.push_back(nowhere());
  }
  parts.next = chosen(op, term, best);
  parts.combined = chosen(op, other, best);
  const ExprPtr where =
      condition && predicate ? both(condition, predicate) : (condition ? condition : predicate);
  const std::vector<ExprPtr> results = fold(parts, std::move(initial), ranges, where);
  const ExprPtr is_nowhere = binary(Op::Eq, results[1], nowhere());
  std::vector<ExprPtr> positions;
  for (size_t d = 0; d < ranges.size(); ++d) {
    positions.push_back(select(is_nowhere, constant(std::int64_t{-1}, Int64), results[d + 1]));
  }
  return positions;
}

bool is_extremum(const Expr &reduction) {
  if (reduction.op != Op::ReduceFold || reduction.ranges.size() != 1) {
    return false;
  }
  const FoldParts parts = fold_parts(reduction);
  const ExprPtr &next = parts.next.front();
  if (parts.states.size() != 2 || next->kind != ExprKind::Select || parts.others.empty()) {
    return false;
  }
  const Extremum best{parts.states[0], {parts.states[1]}};
  const Extremum term{next->operands[1], {iterator(reduction.ranges.front().iterator)}};
  return std::any_of(extrema.begin(), extrema.end(), [&](Op op) {
    const std::vector<ExprPtr> expected = chosen(op, term, best);
    return std::equal(expected.begin(), expected.end(), parts.next.begin(),
                      [](const ExprPtr &one, const ExprPtr &other) {
                        return key_of(one).text == key_of(other).text;
                      });
  });
}

std::shared_ptr<const Function> extrema_as_folds(const std::shared_ptr<const Function> &function) {
  const auto any = [](const ComputationPtr &computation) {
    return std::any_of(computation->pieces.begin(), computation->pieces.end(),
                       [](const Piece &piece) { return has_extrema(piece.value); });
  };
  if (std::none_of(function->computations.begin(), function->computations.end(), any)) {
    return function;
  }
  Copies copies;
  const std::shared_ptr<Function> result = copy_function(*function, copies);
  std::unordered_map<const Expr *, ExprPtr> done; // what computations share stays shared
  for (const ComputationPtr &computation : result->computations) {
    for (Piece &piece : computation->pieces) {
      piece.value = with_folds(piece.value, done);
    }
  }
  return result;
}

} // namespace tilewright
