#include "lowering/certain_sums.h"

#include <vector>

namespace tilewright {

void note_certain_sums(const ExprPtr &root, std::unordered_set<const Expr *> &sums) {
  std::vector<ExprPtr> open = {root};
  std::unordered_set<const Expr *> seen;
  while (!open.empty()) {
    const ExprPtr node = open.back();
    open.pop_back();
    if (!seen.insert(node.get()).second) {
      continue;
    }
    switch (node->kind) {
    case ExprKind::Reduce:
      if (node->op != Op::ReduceFold) {
        sums.insert(node.get());
      }
      break;
    case ExprKind::Select:
      open.push_back(node->operands[0]);
      break;
    case ExprKind::Unary:
    case ExprKind::Binary:
    case ExprKind::Cast:
    case ExprKind::Call:
      open.insert(open.end(), node->operands.begin(), node->operands.end());
      break;
    default:
      break;
    }
  }
}

} // namespace tilewright
