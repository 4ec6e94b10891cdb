#include "algorithm/known_facts.h"

#include "algorithm/affine_linear.h"
#include "algorithm/expression_key.h"

namespace tilewright {

namespace {

Op negated(Op op) {
  switch (op) {
  case Op::Lt:
    return Op::Ge;
  case Op::Le:
    return Op::Gt;
  case Op::Gt:
    return Op::Le;
  case Op::Ge:
    return Op::Lt;
  case Op::Eq:
    return Op::Ne;
  default:
    return Op::Eq;
  }
}

bool is_comparison(const Expr &expr) {
  return expr.kind == ExprKind::Binary &&
         (expr.op == Op::Lt || expr.op == Op::Le || expr.op == Op::Gt || expr.op == Op::Ge ||
          expr.op == Op::Eq || expr.op == Op::Ne);
}

const ExprPtr &behind_casts(const ExprPtr &expr) {
  const ExprPtr *node = &expr;
  while ((*node)->kind == ExprKind::Cast &&
         keeps_value((*node)->operands[0]->type, (*node)->type)) {
    node = &(*node)->operands[0];
  }
  return *node;
}

/// Whether both compute the same.
bool is_same(const ExprPtr &a, const ExprPtr &b) {
  if (a == b) {
    return true;
  }
  if (a->kind != b->kind || a->op != b->op || !(a->type == b->type) || a->producer != b->producer ||
      a->operands.size() != b->operands.size()) {
    return false;
  }
  const ExpressionKey one = key_of(a);
  const ExpressionKey other = key_of(b);
  return !one.text.empty() && one.text == other.text && one.iterators == other.iterators;
}

} // namespace

void comparisons_of(const Fact &fact, std::vector<Fact> &found,
                    std::vector<Alternatives> *alternatives) {
  const Expr &node = *fact.condition;
  const bool joins = node.kind == ExprKind::Binary && node.type.is_bool() &&
                     (node.op == Op::And || node.op == Op::Or);
  if (node.kind == ExprKind::Unary && node.op == Op::Not && node.type.is_bool()) {
    comparisons_of({node.operands[0], !fact.holds}, found, alternatives);
  } else if (joins && node.op == (fact.holds ? Op::And : Op::Or)) {
    comparisons_of({node.operands[0], fact.holds}, found, alternatives);
    comparisons_of({node.operands[1], fact.holds}, found, alternatives);
  } else if (joins && alternatives) {
    alternatives->push_back({{node.operands[0], fact.holds}, {node.operands[1], fact.holds}});
  } else if (is_comparison(node)) {
    found.push_back(fact);
  }
}

Told told_of(const ExprPtr &expr, const Fact &fact, const IterationSpace &space, bool within_sums) {
  const Expr &node = *fact.condition;
  const Op op = fact.holds ? node.op : negated(node.op);
  for (const size_t side : {0, 1}) {
    Told found{side == 0 ? op : mirrored(op), node.operands[1 - side], {}};
    const ExprPtr *at = &behind_casts(node.operands[side]);
    while (at && !is_same(*at, expr)) {
      const Expr &sum = **at;
      const bool is_sum = sum.kind == ExprKind::Binary && sum.type == Int64 &&
                          (sum.op == Op::Add || sum.op == Op::Sub);
      const bool first = is_sum && to_affine(sum.operands[1], space).has_value();
      if (!within_sums || !is_sum || (!first && sum.op == Op::Sub)) {
        at = nullptr;
      } else {
        found.added.emplace_back(sum.operands[first ? 1 : 0], sum.op == Op::Sub);
        at = &behind_casts(sum.operands[first ? 0 : 1]);
      }
    }
    if (at) {
      return found;
    }
  }
  return {};
}

} // namespace tilewright
