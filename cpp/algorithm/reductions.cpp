#include "algorithm/reductions.h"

#include "polyhedral/interruption.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright {

namespace {

/// Are all operands of such a node computed whenever it is, each by itself?
bool computes_operands(const Expr &node) {
  return node.kind != ExprKind::Reduce && node.kind != ExprKind::While &&
         node.kind != ExprKind::Access && node.kind != ExprKind::Select;
}

/// What is computed for every element: branches of selects are left out, their conditions are not.
std::vector<ExprPtr> computed_always(const ExprPtr &root) {
  std::vector<ExprPtr> found;
  std::vector<ExprPtr> roots = {root};
  while (!roots.empty()) {
    std::vector<ExprPtr> conditions;
    for (const ExprPtr &node : parents_first(roots, computes_operands)) {
      found.push_back(node);
      if (node->kind == ExprKind::Select) {
        conditions.push_back(node->operands[0]);
      }
    }
    roots = std::move(conditions);
  }
  return found;
}

} // namespace

bool reads(const ExprPtr &value, const Computation &computation) {
  bool found = false;
  visit(value, [&](const ExprPtr &node) {
    found = found || (node->kind == ExprKind::Access && node->producer.get() == &computation);
  });
  return found;
}

std::vector<ExprPtr> schedulable_reductions(const Computation &computation) {
  if (computation.pieces.size() != 1) {
    return {};
  }
  const ExprPtr &value = computation.pieces.front().value;
  std::vector<ExprPtr> found;
  for (const ExprPtr &node : computed_always(value)) {
    // Where it is all of the value, what is stored may be narrower.
    if (node->kind == ExprKind::Reduce && reduction_combiner(node->op) != Op::None &&
        (node == value || node->type == computation.type)) {
      found.push_back(node);
    }
  }
  return found.empty() || reads(value, computation) ? std::vector<ExprPtr>{} : found;
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
