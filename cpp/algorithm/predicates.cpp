#include "algorithm/predicates.h"

namespace tilewright {

namespace {

void collect(const ExprPtr &condition, std::vector<ExprPtr> &into) {
  if (condition->kind == ExprKind::Binary && condition->op == Op::And &&
      condition->type.is_bool()) {
    collect(condition->operands[0], into);
    collect(condition->operands[1], into);
  } else {
    into.push_back(condition);
  }
}

} // namespace

std::vector<ExprPtr> conjuncts_of(const ExprPtr &condition) {
  std::vector<ExprPtr> parts;
  if (condition) {
    collect(condition, parts);
  }
  return parts;
}

std::set<std::string> compared_iterators(const ExprPtr &condition) {
  std::set<std::string> compared;
  for (const ExprPtr &part : conjuncts_of(condition)) {
    if (part->kind != ExprKind::Binary || part->op != Op::Eq) {
      continue;
    }
    for (const size_t side : {size_t{0}, size_t{1}}) {
      ExprPtr left = part->operands[side];
      while (left->kind == ExprKind::Cast) {
        left = left->operands[0];
      }
      bool is_apart = left->kind == ExprKind::Iterator;
      visit(part->operands[1 - side], [&](const ExprPtr &node) {
        is_apart = is_apart && !(node->kind == ExprKind::Iterator && node->name == left->name);
      });
      if (is_apart) {
        compared.insert(left->name);
      }
    }
  }
  return compared;
}

} // namespace tilewright
