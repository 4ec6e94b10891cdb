#include "algorithm/small_quotients.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "algorithm/instance_walk.h"
#include "algorithm/reductions.h"

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// Quotients farther from 0 are not looked for. (i + 3) % N has one of 3 where N is 1.
constexpr std::int64_t farthest = 4;
/// Remainders of remainders of remainders.
constexpr int deepest = 3;

constexpr const char *doing_small_quotients = "the quotients of periodic subscripts";

bool is_truncating(const Expr &node) {
  return node.op == Op::Fmod || node.op == Op::TruncatedDivide;
}

bool is_remainder(const Expr &node) { return node.op == Op::Mod || node.op == Op::Fmod; }

/// Is it a quotient or a remainder by something that is no number?
bool is_candidate(const Expr &node) {
  return (node.kind == ExprKind::Binary || node.kind == ExprKind::Call) && node.type == Int64 &&
         (node.op == Op::FloorDiv || is_remainder(node) || node.op == Op::TruncatedDivide) &&
         is_plainly_affine(node.operands[1]) && node.operands[1]->kind != ExprKind::Constant;
}

bool has_candidates(const ExprPtr &value) {
  bool found = false;
  visit(value, [&](const ExprPtr &node) { found = found || is_candidate(*node); });
  return found;
}

ExprPtr number(std::int64_t value) { return constant(value, Int64); }

/// `count` times the period.
ExprPtr times(std::int64_t count, const ExprPtr &period) {
  return count == 0 ? number(0) : count == 1 ? period : binary(Op::Mul, period, number(count));
}

/// What the node is where the quotient is `quotient`.
ExprPtr branch(const Expr &node, std::int64_t quotient) {
  if (!is_remainder(node)) {
    return number(quotient);
  }
  const ExprPtr &value = node.operands[0];
  const ExprPtr &period = node.operands[1];
  return quotient == 0  ? value
         : quotient > 0 ? binary(Op::Sub, value, times(quotient, period))
                        : binary(Op::Add, value, times(-quotient, period));
}

/// The choice for a node that is computed at `instances`; null if there is none.
ExprPtr choice_for(const Expr &node, const isl::set &instances, const IterationSpace &space) {
  const ExprPtr &value = node.operands[0];
  const ExprPtr &period = node.operands[1];
  const auto left = [&](Op comparison, const ExprPtr &limit) -> std::optional<bool> {
    const auto holds = compare(comparison, value, limit, space);
    return holds ? std::optional(
                       !checked(instances.intersect(*holds).is_empty(), doing_small_quotients))
                 : std::nullopt;
  };
  const auto empty = compare(Op::Le, period, number(0), space);
  if (!empty || !checked(instances.intersect(*empty).is_empty(), doing_small_quotients)) {
    return nullptr;
  }
  // From 0 outwards, until nothing is left on that side.
  std::int64_t most = 0;
  for (;; ++most) {
    const auto more = left(Op::Ge, times(most + 1, period));
    if (!more || (*more && most == farthest)) {
      return nullptr;
    }
    if (!*more) {
      break;
    }
  }
  std::int64_t least = 0;
  for (;; --least) {
    const auto less = left(Op::Lt, times(least, period));
    if (!less || (*less && (least == -farthest || is_truncating(node)))) {
      return nullptr;
    }
    if (!*less) {
      break;
    }
  }
  ExprPtr result = branch(node, 0);
  for (std::int64_t quotient = 1; quotient <= most; ++quotient) {
    result = select(binary(Op::Ge, value, times(quotient, period)), branch(node, quotient), result);
  }
  for (std::int64_t quotient = -1; quotient >= least; --quotient) {
    result =
        select(binary(Op::Lt, value, times(quotient + 1, period)), branch(node, quotient), result);
  }
  return result;
}

} // namespace

ExprPtr with_small_quotients(const Computation &computation, const ExprPtr &value,
                             const isl::set &domain) {
  ExprPtr result = value;
  for (int depth = 0; depth < deepest && has_candidates(result); ++depth) {
    std::unordered_map<const Expr *, ExprPtr> choices;
    InstanceWalk walk;
    walk.name = computation.name;
    walk.tells_certain = false;
    walk.where = computation.where;
    walk.visit = [&](const InstanceNode &at) {
      if (is_candidate(*at.node)) {
        const IterationSpace space{computation.name, at.iterators};
        if (const ExprPtr choice = choice_for(*at.node, at.domain, space)) {
          choices.emplace(at.node.get(), choice);
        }
      }
      return true;
    };
    walk({result}, domain, computation.iterators);
    if (choices.empty()) {
      break;
    }
    result = with_replaced(result, std::move(choices));
  }
  return result;
}

} // namespace tilewright
