#include "algorithm/joined_reductions.h"

#include "algorithm/reductions.h"
#include "algorithm/rewrite.h"

#include <set>
#include <string>
#include <unordered_map>
#include <utility>

namespace tilewright {

namespace {

/// sum(sum(body for l) for k) as sum(body for k, l): the reduction, if it is not one of those, is
/// returned itself.
ExprPtr with_inner_terms(const ExprPtr &reduction) {
  const Expr &outer = *reduction;
  if (outer.kind != ExprKind::Reduce || outer.ordered || outer.predicate ||
      reduction_combiner(outer.op) == Op::None) {
    return reduction;
  }
  const ExprPtr body = with_inner_terms(outer.operands.front());
  const Expr &inner = *body;
  if (inner.kind != ExprKind::Reduce || inner.op != outer.op || inner.ordered || inner.predicate ||
      !(inner.type == outer.type)) {
    return reduction;
  }
  Expr both = inner;
  both.ranges = outer.ranges;
  std::set<std::string> names;
  for (const ReduceRange &range : inner.ranges) {
    both.ranges.push_back(range);
  }
  for (const ReduceRange &range : both.ranges) {
    names.insert(range.iterator);
  }
  if (names.size() != both.ranges.size()) {
    return reduction; // one name stands for two loops
  }
  const bool has_both = outer.condition && inner.condition;
  both.condition = has_both          ? binary(Op::And, outer.condition, inner.condition)
                   : outer.condition ? outer.condition
                                     : inner.condition;
  return finished(std::move(both));
}

} // namespace

ExprPtr with_joined_reductions(const ExprPtr &root) {
  std::unordered_map<const Expr *, ExprPtr> joined;
  visit(root, [&](const ExprPtr &node) {
    if (const ExprPtr both = with_inner_terms(node); both != node) {
      joined[node.get()] = both;
    }
  });
  return joined.empty() ? root : with_replaced(root, std::move(joined));
}

} // namespace tilewright
