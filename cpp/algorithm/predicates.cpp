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

} // namespace tilewright
