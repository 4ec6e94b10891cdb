#include "algorithm/instance_walk.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "algorithm/predicates.h"
#include "polyhedral/interruption.h"

#include <array>
#include <optional>
#include <unordered_map>

namespace tilewright {

namespace {

constexpr const char *doing = "the instances of a part of an expression";

/// The instances that came to a node so far: those that are certain, and the others.
using Arrived = std::array<std::optional<isl::set>, 2>;

/// Points of which all are left where a condition holds that data decide about, too: where its
/// affine parts hold, of a disjunction those of one side or of the other.
std::optional<isl::set> affine_part(const ExprPtr &condition, const IterationSpace &space) {
  if (auto set = to_set(condition, space)) {
    return set;
  }
  if (condition->kind == ExprKind::Binary && condition->op == Op::Or) {
    const auto one = affine_part(condition->operands[0], space);
    const auto other = one ? affine_part(condition->operands[1], space) : std::nullopt;
    return other ? std::optional(checked(one->unite(*other), doing)) : std::nullopt;
  }
  std::optional<isl::set> result;
  const std::vector<ExprPtr> parts = conjuncts_of(condition);
  for (const ExprPtr &part : parts) {
    const auto set = parts.size() > 1 ? affine_part(part, space) : std::nullopt;
    if (set) {
      result = result ? result->intersect(*set) : *set;
    }
  }
  return result;
}

void arrive(std::optional<isl::set> &known, const isl::set &more) {
  if (!known) {
    known = more;
  } else if (!isl::manage(isl_set_plain_is_equal(known->get(), more.get())).is_true()) {
    known = checked(known->unite(more).coalesce(), doing);
  }
}

} // namespace

void InstanceWalk::operator()(const std::vector<ExprPtr> &roots, const isl::set &domain,
                              const std::vector<std::string> &iterators, bool certain) const {
  for (const ExprPtr &root : roots) {
    require_stack(root);
  }
  std::unordered_map<const Expr *, Arrived> arrived;
  const auto to = [&](const ExprPtr &node, const isl::set &instances, bool is_certain) {
    arrive(arrived[node.get()][is_certain || !tells_certain ? 0 : 1], instances);
  };
  for (const ExprPtr &root : roots) {
    if (root) {
      to(root, domain, certain);
    }
  }
  const auto go_below = [&](const ExprPtr &node, const isl::set &instances, bool is_certain) {
    count_visit();
    std::optional<isl::set> holds;
    if (node->kind == ExprKind::Select) {
      holds = to_set(node->operands[0], {name, iterators});
    }
    if (!visit({node, instances, iterators, is_certain, holds.has_value()})) {
      return;
    }
    switch (node->kind) {
    case ExprKind::Select: {
      if (!holds || into_affine_conditions) {
        to(node->operands[0], instances, is_certain);
      }
      // Where data decide, too, the first branch still is taken only where affine parts hold.
      const auto taken = holds ? holds : affine_part(node->operands[0], {name, iterators});
      to(node->operands[1], taken ? checked(instances.intersect(*taken), doing) : instances,
         is_certain && holds);
      to(node->operands[2], holds ? checked(instances.subtract(*holds), doing) : instances,
         is_certain && holds);
      break;
    }
    case ExprKind::While:
      // The initial values and the condition are computed in any case, the next values perhaps.
      for (size_t part = 0; part < node->operands.size(); ++part) {
        to(node->operands[part], instances, is_certain && part <= node->states.size());
      }
      break;
    case ExprKind::Reduce: {
      std::vector<std::string> inner = iterators;
      for (const ReduceRange &range : node->ranges) {
        inner.push_back(range.iterator);
      }
      const isl::set instances_of_terms =
          reduction_domain(*node, instances, iterators, where.known() ? where : node->where);
      if (terms) {
        terms(*node, instances_of_terms);
      }
      walk_predicate(node->predicate, instances_of_terms, inner, is_certain);
      // How a fold combines two results is not computed for its terms.
      (*this)(node->op == Op::ReduceFold ? fold_parts(*node).next : node->operands,
              instances_of_terms, inner, is_certain && !node->predicate);
      break;
    }
    default:
      for (const ExprPtr &operand : node->operands) {
        to(operand, instances, is_certain);
      }
    }
  };
  const auto goes_below = [](const Expr &node) { return node.kind != ExprKind::Reduce; };
  for (const ExprPtr &node : parents_first(roots, goes_below)) {
    const auto found = arrived.find(node.get());
    if (found == arrived.end()) {
      continue;
    }
    const Arrived ways = found->second;
    for (const size_t way : {0, 1}) {
      if (ways[way]) {
        go_below(node, *ways[way], way == 0);
      }
    }
  }
}

void InstanceWalk::walk_predicate(const ExprPtr &predicate, const isl::set &domain,
                                  const std::vector<std::string> &iterators, bool certain) const {
  const std::vector<ExprPtr> parts = conjuncts_of(predicate);
  if (parts.empty()) {
    return;
  }
  (*this)({parts.front()}, domain, iterators, certain);
  (*this)({parts.begin() + 1, parts.end()}, domain, iterators, false);
}

} // namespace tilewright
