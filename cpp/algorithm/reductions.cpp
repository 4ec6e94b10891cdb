#include "algorithm/reductions.h"

#include "algorithm/existing.h"
#include "algorithm/expression_depth.h"
#include "polyhedral/interruption.h"

#include <unordered_map>
#include <unordered_set>

namespace tilewright {

namespace {

/// What of `node` is computed whenever it is: of what decides between two values, the condition.
std::vector<ExprPtr> computed_with(const Expr &node) {
  switch (node.kind) {
  case ExprKind::Reduce:
  case ExprKind::Fold:
  case ExprKind::While:
  case ExprKind::Access:
    return {};
  case ExprKind::Select:
    return {node.operands.front()};
  default:
    return node.operands;
  }
}

/// What is computed for every element, each node once, in the order in which it is written.
std::vector<ExprPtr> computed_always(const ExprPtr &root) {
  std::vector<ExprPtr> found;
  std::unordered_set<const Expr *> seen;
  std::vector<ExprPtr> stack = {root};
  while (!stack.empty()) {
    const ExprPtr node = stack.back();
    stack.pop_back();
    if (!seen.insert(node.get()).second) {
      continue;
    }
    count_visit();
    found.push_back(node);
    const std::vector<ExprPtr> parts = computed_with(*node);
    stack.insert(stack.end(), parts.rbegin(), parts.rend());
  }
  return found;
}

} // namespace

bool reads(const ExprPtr &value, const Computation &computation) {
  bool found = false;
  if (reads_computations(value)) {
    visit(value, [&](const ExprPtr &node) {
      found = found || (node->kind == ExprKind::Access && node->producer.get() == &computation);
    });
  }
  return found;
}

std::vector<ExprPtr> schedulable_reductions(const Computation &computation) {
  if (computation.pieces.size() != 1) {
    return {};
  }
  const ExprPtr value = existing_value(computation.pieces.front().value).value;
  std::vector<ExprPtr> found;
  for (const ExprPtr &node : computed_always(value)) {
    // Where it is all of the value, what is stored may be narrower.
    if (is_combined(*node) &&
        (node == value || node->type == computation.type || has_several_states(*node))) {
      found.push_back(node);
    }
  }
  return found.empty() || reads(value, computation) ? std::vector<ExprPtr>{} : found;
}

bool is_combined(const Expr &value) {
  return (value.kind == ExprKind::Reduce && reduction_combiner(value.op) != Op::None) ||
         value.kind == ExprKind::Fold;
}

bool has_several_states(const Expr &value) {
  return value.kind == ExprKind::Fold && value.operands.size() > 2;
}

bool contains_several_states(const ExprPtr &value) {
  bool found = false;
  if (contains_kind(value, ExprKind::Fold)) {
    visit(value, [&](const ExprPtr &node) { found = found || has_several_states(*node); });
  }
  return found;
}

ExprPtr result_of(const ExprPtr &fold, size_t position) {
  Expr result = *fold;
  result.position = position;
  result.type = fold->operands[position + 1]->type;
  return finished(std::move(result));
}

ExprPtr first_result(const ExprPtr &fold) { return result_of(fold, 0); }

std::vector<ExprPtr> results_of_fold(const ExprPtr &value, const Expr &reduction) {
  std::vector<ExprPtr> results;
  const auto goes_below = [](const Expr &node) { return node.kind != ExprKind::Reduce; };
  for (const ExprPtr &node : parents_first({value}, goes_below)) {
    if (node->kind == ExprKind::Fold && node->operands.front().get() == &reduction) {
      results.push_back(node);
    }
  }
  return results;
}

std::vector<ExprPtr> with_terms_in_order(const std::vector<ExprPtr> &results) {
  Expr reduction = *results.front()->operands.front();
  reduction.ordered = true;
  const ExprPtr in_order = finished(std::move(reduction));
  std::vector<ExprPtr> made;
  for (const ExprPtr &result : results) {
    std::vector<ExprPtr> operands = result->operands;
    operands.front() = in_order;
    made.push_back(with_operands(result, std::move(operands)));
  }
  return made;
}

bool is_associative(const Expr &reduction) {
  return !reduction.ordered ||
         (reduction.op == Op::ReduceFold && !fold_parts(reduction).others.empty());
}

std::vector<ExprPtr> scheduled_states(const Computation &computation) {
  const ExprPtr reduction = scheduled_reduction(computation);
  return reduction && has_several_states(*reduction)
             ? fold_parts(*reduction->operands.front()).states
             : std::vector<ExprPtr>{};
}

std::string state_name(const Computation &computation, size_t state) {
  const std::vector<ExprPtr> states = scheduled_states(computation);
  return computation.name + "_" +
         (state < states.size() ? states[state]->name : std::to_string(state));
}

ExprPtr scheduled_reduction(const Computation &computation) {
  const std::vector<ExprPtr> found = schedulable_reductions(computation);
  return found.empty() ? nullptr : found.front();
}

ExprPtr with_replaced(const ExprPtr &root, const ExprPtr &node, const ExprPtr &by) {
  return with_replaced(root, {{node.get(), by}});
}

ExprPtr with_replaced(const ExprPtr &root, std::unordered_map<const Expr *, ExprPtr> by) {
  std::unordered_map<const Expr *, ExprPtr> &done = by;
  const auto replace = [&](const auto &self, const ExprPtr &value) -> ExprPtr {
    if (const auto found = done.find(value.get()); found != done.end()) {
      return found->second; // a shared node stays shared
    }
    count_visit();
    std::vector<ExprPtr> operands;
    for (const ExprPtr &operand : value->operands) {
      operands.push_back(self(self, operand));
    }
    ExprPtr result = with_operands(value, std::move(operands));
    if (value->predicate) {
      result = with_predicate(result, self(self, value->predicate));
    }
    done.emplace(value.get(), result);
    return result;
  };
  return replace(replace, root);
}

} // namespace tilewright
