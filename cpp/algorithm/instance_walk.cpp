#include "algorithm/instance_walk.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "algorithm/predicates.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_map>

namespace tilewright {

namespace {

constexpr const char *doing_walk = "the instances of a part of an expression";

/// The instances that came to a node so far, and what is known of all of them.
struct Arrival {
  isl::set instances;
  std::vector<Fact> facts;
};

/// Those that are certain, and the others.
using Arrived = std::array<std::optional<Arrival>, 2>;

/// Points of which all are left where a condition holds that data decide about, too: where its
/// affine parts hold, of a disjunction those of one side or of the other.
std::optional<isl::set> affine_part(const ExprPtr &condition, const IterationSpace &space) {
  if (auto set = to_set(condition, space)) {
    return set;
  }
  if (condition->kind == ExprKind::Binary && condition->op == Op::Or) {
    const auto one = affine_part(condition->operands[0], space);
    const auto other = one ? affine_part(condition->operands[1], space) : std::nullopt;
    return other ? std::optional(checked(one->unite(*other), doing_walk)) : std::nullopt;
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

void arrive(std::optional<Arrival> &known, const isl::set &more, const std::vector<Fact> &facts) {
  if (!known) {
    known = Arrival{more, facts};
    return;
  }
  if (!isl::manage(isl_set_plain_is_equal(known->instances.get(), more.get())).is_true()) {
    known->instances = checked(known->instances.unite(more).coalesce(), doing_walk);
  }
  const auto is_new = [&](const Fact &fact) {
    return std::none_of(facts.begin(), facts.end(), [&](const Fact &other) {
      return other.condition == fact.condition && other.holds == fact.holds;
    });
  };
  known->facts.erase(std::remove_if(known->facts.begin(), known->facts.end(), is_new),
                     known->facts.end());
}

std::vector<std::string> with_terms(const Expr &reduce, std::vector<std::string> iterators) {
  for (const ReduceRange &range : reduce.ranges) {
    iterators.push_back(range.iterator);
  }
  return iterators;
}

/// Facts about the instances of a reduction, for its terms: none if they may speak of an iterator
/// that one of the same name hides there.
std::vector<Fact> known_of_terms(const Expr &reduce, const std::vector<std::string> &iterators,
                                 const std::vector<Fact> &facts) {
  const bool hides =
      std::any_of(reduce.ranges.begin(), reduce.ranges.end(), [&](const ReduceRange &range) {
        return std::find(iterators.begin(), iterators.end(), range.iterator) != iterators.end();
      });
  return hides ? std::vector<Fact>() : facts;
}

std::vector<Fact> with_fact(std::vector<Fact> facts, const ExprPtr &condition, bool holds) {
  facts.push_back({condition, holds});
  return facts;
}

} // namespace

void InstanceWalk::operator()(const std::vector<ExprPtr> &roots, const isl::set &domain,
                              const std::vector<std::string> &iterators, bool certain,
                              const std::vector<Fact> &facts_around) const {
  for (const ExprPtr &root : roots) {
    require_stack(root);
  }
  std::unordered_map<const Expr *, Arrived> arrived;
  const auto to = [&](const ExprPtr &node, const isl::set &instances, bool is_certain,
                      const std::vector<Fact> &facts) {
    arrive(arrived[node.get()][is_certain || !tells_certain ? 0 : 1], instances, facts);
  };
  for (const ExprPtr &root : roots) {
    if (root) {
      to(root, domain, certain, facts_around);
    }
  }
  const auto go_below = [&](const ExprPtr &node, const Arrival &at, bool is_certain) {
    count_visit();
    const isl::set &instances = at.instances;
    std::optional<isl::set> holds;
    if (node->kind == ExprKind::Select) {
      holds = to_set(node->operands[0], {name, iterators});
    }
    if (!visit({node, instances, iterators, is_certain, holds.has_value(), at.facts})) {
      return;
    }
    switch (node->kind) {
    case ExprKind::Select: {
      if (!holds || into_affine_conditions) {
        to(node->operands[0], instances, is_certain, at.facts);
      }
      // Where data decide, too, the first branch still is taken only where affine parts hold.
      const auto taken = holds ? holds : affine_part(node->operands[0], {name, iterators});
      to(node->operands[1], taken ? checked(instances.intersect(*taken), doing_walk) : instances,
         is_certain && holds, holds ? at.facts : with_fact(at.facts, node->operands[0], true));
      to(node->operands[2], holds ? checked(instances.subtract(*holds), doing_walk) : instances,
         is_certain && holds, holds ? at.facts : with_fact(at.facts, node->operands[0], false));
      break;
    }
    case ExprKind::While:
      // The initial values and the condition are computed in any case, the next values perhaps.
      for (size_t part = 0; part < node->operands.size(); ++part) {
        to(node->operands[part], instances, is_certain && part <= node->states.size(), at.facts);
      }
      break;
    case ExprKind::Reduce: {
      const auto inner = with_terms(*node, iterators);
      const auto outer = known_of_terms(*node, iterators, at.facts);
      const isl::set instances_of_terms =
          reduction_domain(*node, instances, iterators, where.known() ? where : node->where);
      if (terms) {
        terms(*node, instances_of_terms);
      }
      walk_predicate(node->predicate, instances_of_terms, inner, is_certain, outer);
      // How a fold combines two results is not computed for its terms.
      (*this)(node->op == Op::ReduceFold ? fold_parts(*node).next : node->operands,
              instances_of_terms, inner, is_certain && !node->predicate,
              node->predicate ? with_fact(outer, node->predicate, true) : outer);
      break;
    }
    default:
      for (const ExprPtr &operand : node->operands) {
        to(operand, instances, is_certain, at.facts);
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
                                  const std::vector<std::string> &iterators, bool certain,
                                  const std::vector<Fact> &facts) const {
  const std::vector<ExprPtr> parts = conjuncts_of(predicate);
  if (parts.empty()) {
    return;
  }
  (*this)({parts.front()}, domain, iterators, certain, facts);
  (*this)({parts.begin() + 1, parts.end()}, domain, iterators, false, facts);
}

} // namespace tilewright
