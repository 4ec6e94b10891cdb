// Choices: as a value of both branches if nothing speaks against computing both, else by a branch.
#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "algorithm/predicates.h"
#include "loops/traverse.h"
#include "lowering/expression_forms.h"
#include "lowering/expressions.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <functional>

namespace tilewright {

namespace {

/// Values of more nodes are computed where they are needed.
constexpr int most_chosen = 16;

bool are_same(const std::vector<ValuePtr> &one, const std::vector<ValuePtr> &other) {
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [](const ValuePtr &a, const ValuePtr &b) { return same_value(a, b); });
}

bool is_same(const Load &one, const Load &other) {
  return one.buffer == other.buffer && are_same(one.subscripts(), other.subscripts());
}

} // namespace

bool ExpressionTranslator::is_at_hand(const ExprPtr &expr) {
  if (always_readable(expr) || frame_.done.contains(expr.get())) {
    return true;
  }
  const bool is_sum = expr->kind == ExprKind::Binary && tree_size_of(expr) <= 16;
  return is_sum && is_at_hand(expr->operands[0]) && is_at_hand(expr->operands[1]);
}

StmtPtr ExpressionTranslator::branch(const ExprPtr &value, std::int64_t id,
                                     const std::string &name) {
  return scoped([&] { emit(assign_local(id, name, translate(value))); });
}

ExprPtr ExpressionTranslator::undecided_part(const ExprPtr &condition) {
  const std::vector<ExprPtr> parts = conjuncts_of(condition);
  if (parts.size() < 2 || frame_.domain.is_null()) {
    return condition;
  }
  const isl::set instances = frame_.domain.intersect_params(state_.program.context);
  const IterationSpace space{statement_.name, frame_.names};
  std::vector<ExprPtr> undecided;
  for (const ExprPtr &part : parts) {
    const auto holds = to_set(part, space);
    if (!holds || !checked(instances.is_subset(*holds), "a condition that always holds")) {
      undecided.push_back(part);
    }
  }
  if (undecided.size() == parts.size()) {
    return condition;
  }
  ExprPtr result;
  for (const ExprPtr &part : undecided) {
    result = result ? binary(Op::And, result, part) : part;
    uses_.try_emplace(result.get(), 1); // its parts are used no more often than before
  }
  return undecided_.emplace_back(result);
}

ValuePtr ExpressionTranslator::translate_select(const Expr &expr) {
  if (const Expr *read = joined(expr)) {
    return translate_access(*read);
  }
  const ExprPtr undecided = undecided_part(expr.operands[0]);
  if (undecided == nullptr) {
    return translate(expr.operands[1]);
  }
  const ValuePtr condition = translate(undecided);
  const ExprPtr &then = expr.operands[1];
  const ExprPtr &otherwise = expr.operands[2];
  if (is_at_hand(then) && is_at_hand(otherwise)) {
    const ValuePtr a = translate(then);
    return select_value(condition, a, translate(otherwise));
  }
  if (is_large(expr) && !is_traced_) {
    for (const ExprPtr &part : computed_parts_.of_both(then, otherwise)) {
      translate(part); // once, instead of in each branch
    }
  }
  const std::int64_t id = state_.numbers.next();
  const StmtPtr first = branch(then, id, "chosen");
  const StmtPtr second = branch(otherwise, id, "chosen");
  if (can_choose(condition, *first, *second)) {
    return select_value(condition, as<AssignLocal>(*first)->value, as<AssignLocal>(*second)->value);
  }
  emit(declare_local(id, "chosen", zero_of(expr.type)));
  emit(if_then(condition, first, second));
  return local(id, "chosen", {expr.type, 1});
}

/// May both branches be computed, whatever the condition says, and does that cost next to nothing?
/// So it is if they read what the condition reads as well, or what the statement is about to
/// overwrite: the least so far of `m = min(m, x)` written as a choice.
bool ExpressionTranslator::can_choose(const ValuePtr &condition, const LoopStatement &first,
                                      const LoopStatement &second) {
  const auto *one = as<AssignLocal>(first);
  const auto *other = as<AssignLocal>(second);
  if (one == nullptr || other == nullptr || is_traced_) {
    return false;
  }
  std::vector<const Load *> there;
  visit_value(condition, [&](const Value &value) {
    if (const auto *read = as<Load>(value)) {
      there.push_back(read);
    }
  });
  int size = 0;
  const std::function<bool(const Value &)> may_be_computed = [&](const Value &value) {
    if (const auto *read = as<Load>(value)) { // what its subscripts need was asked for as well
      return is_overwritten(*read) ||
             std::any_of(there.begin(), there.end(),
                         [&](const Load *known) { return is_same(*known, *read); });
    }
    const auto *operation = as<Binary>(value);
    const bool divides = operation != nullptr && !operation->type.scalar.is_floating() &&
                         (operation->op == Op::FloorDiv || operation->op == Op::Mod);
    return ++size <= most_chosen && !is<Call>(value) && !is<Extern>(value) && !divides &&
           std::all_of(value.operands.begin(), value.operands.end(),
                       [&](const ValuePtr &operand) { return may_be_computed(*operand); });
  };
  return may_be_computed(*one->value) && may_be_computed(*other->value);
}

/// Is it the element that the statement writes?
bool ExpressionTranslator::is_overwritten(const Load &read) {
  return static_cast<size_t>(read.buffer) == statement_.buffer &&
         are_same(translate_place(statement_.index, frame_.iterators), read.subscripts());
}

} // namespace tilewright
