#include "algorithm/free_iterators.h"

#include "polyhedral/interruption.h"

#include <utility>

namespace tilewright {

const std::set<std::string> &FreeIterators::of(const ExprPtr &expr) {
  static const std::set<std::string> none;
  if (!expr) {
    return none;
  }
  if (const auto known = known_.find(expr.get()); known != known_.end()) {
    return known->second;
  }
  count_visit();
  std::set<std::string> names;
  if (expr->kind == ExprKind::Iterator) {
    names.insert(expr->name);
  }
  std::set<std::string> inside;
  for (const ExprPtr &part : {expr->condition, expr->predicate}) {
    inside.insert(of(part).begin(), of(part).end());
  }
  for (const ExprPtr &operand : expr->operands) {
    const std::set<std::string> &below = of(operand);
    inside.insert(below.begin(), below.end());
  }
  // A bound sees the iterators that are reduced before it.
  for (auto range = expr->ranges.rbegin(); range != expr->ranges.rend(); ++range) {
    inside.erase(range->iterator);
    for (const ExprPtr &bound : {range->lower, range->upper}) {
      inside.insert(of(bound).begin(), of(bound).end());
    }
  }
  names.merge(inside);
  return known_.emplace(expr.get(), std::move(names)).first->second;
}

std::set<std::string> iterators_in(const ExprPtr &expr) {
  std::set<std::string> names;
  visit(expr, [&](const ExprPtr &part) {
    if (part->kind == ExprKind::Iterator) {
      names.insert(part->name);
    }
  });
  return names;
}

} // namespace tilewright
