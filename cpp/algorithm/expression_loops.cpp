// The builders of reductions and of loops over states.
#include "algorithm/affine.h"
#include "algorithm/expression.h"
#include "algorithm/expression_nodes.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

namespace tilewright {

using namespace nodes;

namespace {

bool is_affine_condition(const ExprPtr &condition) {
  std::vector<std::string> names;
  bool reads = false;
  visit(condition, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::Iterator) {
      names.push_back(node->name);
    }
    reads = reads || node->kind == ExprKind::Access || node->kind == ExprKind::State;
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return !reads && to_set(condition, {"", names}).has_value();
}

ExprPtr conjunction(const ExprPtr &a, const ExprPtr &b) {
  return !a ? b : !b ? a : binary(Op::And, a, b);
}

/// The affine conjuncts of a condition go one way, the others another.
void split_condition(const ExprPtr &condition, ExprPtr &affine, ExprPtr &others) {
  if (is_affine_condition(condition)) {
    affine = conjunction(affine, condition);
  } else if (condition->kind == ExprKind::Binary && condition->op == Op::And) {
    split_condition(condition->operands[0], affine, others);
    split_condition(condition->operands[1], affine, others);
  } else {
    others = conjunction(others, condition);
  }
}

/// Of a reduction's ranges and conditions (may be null); the bounds become int64.
void check_instances(Op op, std::vector<ReduceRange> &ranges,
                     const std::vector<ExprPtr> &conditions) {
  if (ranges.empty()) {
    refuse(quoted(op) + " needs at least one iterator to reduce over");
  }
  std::set<std::string> seen;
  for (ReduceRange &range : ranges) {
    if (range.iterator.empty() || !seen.insert(range.iterator).second) {
      refuse(quoted(op) + " reduces over '" + range.iterator + "' twice");
    }
    if (range.step < 1 || range.step > largest_step) {
      refuse("the step of '" + range.iterator + "' in " + quoted(op) + " must be 1 to " +
             std::to_string(largest_step) + ", not " + std::to_string(range.step));
    }
    for (ExprPtr *bound : {&range.lower, &range.upper}) {
      require(*bound, quoted(op) + " over '" + range.iterator + "'");
      if (!(*bound)->type.is_integer()) {
        refuse("a bound of '" + range.iterator + "' in " + quoted(op) +
               " must be an integer, but " + to_string(*bound) + " is " +
               type_name((*bound)->type));
      }
      *bound = cast(*bound, Int64);
    }
  }
  for (const ExprPtr &given : conditions) {
    if (given && !given->type.is_bool()) {
      refuse("the condition of " + quoted(op) + " must be bool, but " + to_string(given) + " is " +
             type_name(given->type));
    }
  }
}

/// A state takes the values `given` as they are `kind` ("initial", "next").
void check_state_values(const std::string &what, const std::vector<ExprPtr> &states,
                        const std::vector<ExprPtr> &given, const std::string &kind) {
  for (size_t k = 0; k < states.size(); ++k) {
    require(given[k], what);
    if (promote(states[k]->type, given[k]->type) != states[k]->type) {
      refuse("the state " + states[k]->name + " of " + what + " is " + type_name(states[k]->type) +
             ", but its " + kind + " value " + to_string(given[k]) + " is " +
             type_name(given[k]->type) + "; cast one of them");
    }
  }
}

void check_state_counts(const std::string &what, const std::vector<ExprPtr> &states,
                        const std::vector<ExprPtr> &initial, const std::vector<ExprPtr> &next) {
  if (states.empty() || initial.size() != states.size() || next.size() != states.size()) {
    refuse(what + " has " + std::to_string(states.size()) + " states, but " +
           std::to_string(initial.size()) + " initial and " + std::to_string(next.size()) +
           " next values");
  }
}

/// How two results are combined is nothing of any one term.
void check_combined(const FoldParts &parts, const std::vector<ReduceRange> &ranges) {
  for (const ExprPtr &value : parts.combined) {
    visit(value, [&](const ExprPtr &node) {
      for (const ReduceRange &range : ranges) {
        if (node->kind == ExprKind::Iterator && node->name == range.iterator) {
          refuse(quoted(Op::ReduceFold) + " combines two results by " + to_string(value) +
                 ", which uses " + range.iterator +
                 ", an iterator that it reduces over; give what depends on it as the values that "
                 "are combined");
        }
      }
    });
  }
}

} // namespace

ExprPtr reduce(Op op, std::vector<ReduceRange> ranges, ExprPtr body, ExprPtr condition,
               bool ordered, ExprPtr predicate) {
  if (operation(op).form != OperationForm::Reduce) {
    refuse(quoted(op) + " is not a reduction");
  }
  require(body, quoted(op));
  const bool position = op == Op::ReduceArgMin || op == Op::ReduceArgMax;
  if (position && ranges.size() > 1) {
    refuse(quoted(op) + " gives the value of one iterator, but " + std::to_string(ranges.size()) +
           " are reduced");
  }
  check_instances(op, ranges, {condition, predicate});
  ScalarType type = body->type;
  switch (op) {
  case Op::ReduceSum:
  case Op::ReduceProd:
    if (type.is_bool() || type.is_integer()) {
      type = type.kind == TypeKind::UInt ? UInt64 : Int64;
    }
    break;
  case Op::ReduceAny:
  case Op::ReduceAll:
    type = Bool;
    break;
  default:
    if (type.is_complex()) {
      refuse(quoted(op) + " does not take " + type_name(type) + "; complex numbers have no order");
    }
    break;
  }
  Expr node = node_of(ExprKind::Reduce, position ? Int64 : type, {cast(std::move(body), type)}, op);
  node.ranges = std::move(ranges);
  node.predicate = std::move(predicate);
  if (condition) {
    split_condition(condition, node.condition, node.predicate);
  }
  node.ordered = ordered;
  return make(std::move(node));
}

ExprPtr state(const std::string &name, ScalarType type) {
  Expr node = node_of(ExprKind::State, type);
  node.name = name;
  return make(std::move(node));
}

std::vector<ExprPtr> while_loop(std::vector<ExprPtr> states, std::vector<ExprPtr> initial,
                                ExprPtr condition, std::vector<ExprPtr> next, ExprPtr limit) {
  const std::string what = "'while_loop'";
  check_state_counts(what, states, initial, next);
  require(condition, what);
  if (!condition->type.is_bool()) {
    refuse("the condition of " + what + " must be bool, but " + to_string(condition) + " is " +
           type_name(condition->type));
  }
  check_state_values(what, states, initial, "initial");
  check_state_values(what, states, next, "next");
  if (limit && !limit->type.is_integer()) {
    refuse("the limit of " + what + " must be an integer, but " + to_string(limit) + " is " +
           type_name(limit->type));
  }
  std::vector<ExprPtr> operands;
  for (size_t k = 0; k < states.size(); ++k) {
    operands.push_back(cast(initial[k], states[k]->type));
  }
  operands.push_back(std::move(condition));
  for (size_t k = 0; k < states.size(); ++k) {
    operands.push_back(cast(next[k], states[k]->type));
  }
  if (limit) {
    operands.push_back(cast(std::move(limit), Int64));
  }
  Expr node = node_of(ExprKind::While, states.front()->type, std::move(operands));
  node.states = std::move(states);
  const ExprPtr loop = make(std::move(node));
  std::vector<ExprPtr> results;
  for (size_t k = 0; k < loop->states.size(); ++k) {
    Expr result = node_of(ExprKind::WhileResult, loop->states[k]->type, {loop});
    result.position = k;
    results.push_back(make(std::move(result)));
  }
  return results;
}

std::vector<ExprPtr> fold(const FoldParts &parts, std::vector<ExprPtr> initial,
                          std::vector<ReduceRange> ranges, ExprPtr condition) {
  const std::string what = quoted(Op::ReduceFold);
  const std::vector<ExprPtr> &states = parts.states;
  check_state_counts(what, states, initial, parts.next);
  check_state_values(what, states, initial, "initial");
  check_state_values(what, states, parts.next, "next");
  check_instances(Op::ReduceFold, ranges, {condition});
  Expr node = node_of(ExprKind::Reduce, states.front()->type, {}, Op::ReduceFold);
  node.states = states;
  node.position = states.size();
  for (size_t k = 0; k < states.size(); ++k) {
    node.operands.push_back(cast(parts.next[k], states[k]->type));
    initial[k] = cast(initial[k], states[k]->type);
  }
  node.ordered = parts.others.empty();
  if (!node.ordered) {
    check_state_counts(what, states, parts.others, parts.combined);
    check_state_values(what, states, parts.combined, "combined");
    check_combined(parts, ranges);
    node.states.insert(node.states.end(), parts.others.begin(), parts.others.end());
    for (size_t k = 0; k < states.size(); ++k) {
      node.operands.push_back(cast(parts.combined[k], states[k]->type));
    }
  }
  node.ranges = std::move(ranges);
  if (condition) {
    split_condition(condition, node.condition, node.predicate);
  }
  const ExprPtr reduction = make(std::move(node));
  std::vector<ExprPtr> operands = {reduction};
  operands.insert(operands.end(), initial.begin(), initial.end());
  std::vector<ExprPtr> results;
  for (size_t k = 0; k < states.size(); ++k) {
    Expr result = node_of(ExprKind::Fold, states[k]->type, operands);
    result.position = k;
    results.push_back(make(std::move(result)));
  }
  return results;
}

FoldParts fold_parts(const Expr &reduction) {
  const auto count = static_cast<std::ptrdiff_t>(reduction.position);
  const auto states = reduction.states.begin();
  const auto values = reduction.operands.begin();
  return {{states, states + count},
          {values, values + count},
          {states + count, reduction.states.end()},
          {values + count, reduction.operands.end()}};
}

const Expr *reduction_of(const Expr &value) {
  return value.kind == ExprKind::Reduce ? &value
         : value.kind == ExprKind::Fold ? value.operands.front().get()
                                        : nullptr;
}

std::vector<ExprPtr> initial_values(const Expr &fold) {
  return {fold.operands.begin() + 1, fold.operands.end()};
}

WhileParts while_parts(const Expr &loop) {
  const auto count = static_cast<std::ptrdiff_t>(loop.states.size());
  const auto begin = loop.operands.begin();
  WhileParts parts;
  parts.initial.assign(begin, begin + count);
  parts.condition = *(begin + count);
  parts.next.assign(begin + count + 1, begin + 2 * count + 1);
  if (loop.operands.size() > 2 * loop.states.size() + 1) {
    parts.limit = loop.operands.back();
  }
  return parts;
}

ExprPtr reduction_identity(Op op, ScalarType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (op) {
  case Op::ReduceSum:
    return constant(false, type);
  case Op::ReduceProd:
    return constant(true, type);
  case Op::ReduceAny:
    return constant(false, Bool);
  case Op::ReduceAll:
    return constant(true, Bool);
  case Op::ReduceMin:
  case Op::ReduceMax: {
    const bool smallest = op == Op::ReduceMax;
    if (type.is_complex()) {
      refuse(quoted(op) + " does not take " + type_name(type) + "; complex numbers have no order");
    }
    if (type.is_floating()) {
      return constant(smallest ? -infinity : infinity, type);
    }
    return smallest ? constant(integer_min(type), type) : constant(integer_max(type), type);
  }
  case Op::ReduceArgMin:
  case Op::ReduceArgMax:
    return constant(std::int64_t{-1}, Int64);
  default:
    refuse(quoted(op) + " is not a reduction");
  }
}

Op reduction_combiner(Op op) {
  switch (op) {
  case Op::ReduceSum:
    return Op::Add;
  case Op::ReduceProd:
    return Op::Mul;
  case Op::ReduceMin:
    return Op::Min;
  case Op::ReduceMax:
    return Op::Max;
  case Op::ReduceAny:
    return Op::Or;
  case Op::ReduceAll:
    return Op::And;
  default:
    return Op::None;
  }
}

} // namespace tilewright
