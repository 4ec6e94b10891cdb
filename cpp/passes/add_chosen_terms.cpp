#include "passes/add_chosen_terms.h"

#include "loops/traverse.h"
#include "passes/loop_outcomes.h"

#include <algorithm>
#include <vector>

namespace tilewright {

namespace {

/// May it be computed where nobody asked? It reads what the condition reads, and takes no time.
bool is_at_hand(const ValuePtr &term, const ValuePtr &condition) {
  std::vector<const Load *> read;
  visit_value(condition, [&](const Value &node) {
    if (const auto *load = as<Load>(node)) {
      read.push_back(load);
    }
  });
  bool found = true;
  visit_value(term, [&](const Value &node) {
    if (const auto *load = as<Load>(node)) {
      found = found && std::any_of(read.begin(), read.end(),
                                   [&](const Load *other) { return are_same(*load, *other); });
    }
    const auto *binary = as<Binary>(node);
    const bool is_quick = binary == nullptr || binary->op == Op::Add || binary->op == Op::Sub ||
                          binary->op == Op::Mul || binary->op == Op::Max || binary->op == Op::Min;
    found = found && is_quick && !is<Call>(node) && !is<Extern>(node);
  });
  return found;
}

/// The assignment with a term that is chosen; null for any other one.
StmtPtr with_chosen_term(const StmtPtr &statement, const ValuePtr &condition) {
  const auto *assigned = as<AssignLocal>(statement);
  const auto *sum = assigned == nullptr ? nullptr : as<Binary>(assigned->value);
  const ValueType type = assigned == nullptr ? ValueType{} : assigned->value->type;
  // Terms of a reduction are added in one step with their products (fused): these stay.
  if (sum == nullptr || assigned->op != Op::None || (sum->op != Op::Add && sum->op != Op::Sub) ||
      type.lanes != 1 || !type.scalar.is_floating()) {
    return nullptr;
  }
  const ValuePtr own = local(assigned->id, assigned->name, type);
  const bool is_left = same_value(sum->left(), own);
  if (!is_left && (sum->op == Op::Sub || !same_value(sum->right(), own))) {
    return nullptr;
  }
  const ValuePtr &term = is_left ? sum->right() : sum->left();
  if (!is_at_hand(term, condition)) {
    return nullptr;
  }
  const ValuePtr zero = zero_of(type.scalar);
  const ValuePtr nothing = sum->op == Op::Sub ? zero : unary_value(Op::Neg, zero);
  return assign_local(assigned->id, assigned->name,
                      binary_value(sum->op, own, select_value(condition, term, nothing)));
}

/// In the body of a serial loop.
StmtPtr in_loop(const StmtPtr &statement) {
  const auto *test = as<If>(statement);
  if (test == nullptr || test->has_otherwise()) {
    return is<Block>(statement) ? map_children(statement, in_loop) : statement;
  }
  const StmtPtr &then = test->then();
  const std::vector<StmtPtr> alone = {then};
  std::vector<StmtPtr> made;
  for (const StmtPtr &each : is<Block>(then) ? then->children : alone) {
    StmtPtr chosen = with_chosen_term(each, test->condition);
    if (!chosen) {
      return statement;
    }
    made.push_back(std::move(chosen));
  }
  // The test is asked behind the first sum again.
  const bool asks_sums = std::any_of(made.begin(), made.end(), [&](const StmtPtr &each) {
    return reads_local(test->condition, as<AssignLocal>(each)->id);
  });
  return asks_sums && made.size() > 1 ? statement : block(std::move(made));
}

} // namespace

StmtPtr add_chosen_terms(const StmtPtr &body) {
  if (const auto *loop = as_loop(body, LoopKind::Serial)) {
    return with_children(body, {add_chosen_terms(in_loop(loop->body()))});
  }
  return map_children(body, add_chosen_terms);
}

} // namespace tilewright
