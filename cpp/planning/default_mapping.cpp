#include "planning/default_mapping.h"

#include "analysis/legality.h"
#include "mapping/program.h"

#include <isl/schedule.h>

#include <algorithm>
#include <functional>
#include <set>

namespace tilewright {

namespace {

std::set<std::string> producers_of(const Computation &computation) {
  std::set<std::string> names;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &node) {
      if (node->kind == ExprKind::Access && !node->producer->is_input) {
        names.insert(node->producer->name);
      }
    });
  }
  return names;
}

/// Computations that need each other, in the order of the function; groups of one are left out.
std::vector<std::vector<std::string>> recurrence_groups(const Function &function) {
  std::map<std::string, std::set<std::string>> reaches;
  for (const ComputationPtr &computation : function.computations) {
    reaches[computation->name] = producers_of(*computation);
  }
  bool grown = true;
  while (grown) {
    grown = false;
    for (auto &[name, targets] : reaches) {
      const std::set<std::string> before = targets;
      for (const std::string &target : before) {
        targets.insert(reaches[target].begin(), reaches[target].end());
      }
      grown = grown || targets.size() != before.size();
    }
  }
  std::vector<std::vector<std::string>> groups;
  std::set<std::string> grouped;
  for (const ComputationPtr &computation : function.computations) {
    std::vector<std::string> group;
    for (const ComputationPtr &other : function.computations) {
      if (reaches[computation->name].count(other->name) != 0 &&
          reaches[other->name].count(computation->name) != 0 &&
          grouped.insert(other->name).second) {
        group.push_back(other->name);
      }
    }
    if (group.size() > 1) {
      groups.push_back(group);
    }
  }
  return groups;
}

bool is_legal(const Mapping &mapping) { return !find_violation(build_program(mapping)); }

/// A command of the planner itself: it is not part of the person's schedule.
Mapping planned(const Mapping &mapping, const std::string &computation, const std::string &name,
                std::vector<Argument> arguments) {
  return mapping.with({computation, name, std::move(arguments), {}});
}

/// Fuses the members of each group over their common outer loops, trying fewer loops and each order
/// of members.
Mapping fused(const Mapping &mapping, std::vector<std::string> group) {
  size_t common = SIZE_MAX;
  for (const std::string &name : group) {
    common = std::min(common, (*mapping.function().find(name))->rank());
  }
  constexpr size_t most_members = 4;
  for (size_t shared = common; shared > 0; --shared) {
    std::vector<std::string> order = group;
    std::sort(order.begin(), order.end());
    do {
      Mapping candidate = mapping;
      for (size_t m = 1; m < order.size(); ++m) {
        const std::string &level = candidate.time_space(order[m - 1]).dimensions[shared - 1].name;
        candidate = planned(candidate, order[m], "after", {order[m - 1], level});
      }
      if (is_legal(candidate)) {
        return candidate;
      }
    } while (order.size() <= most_members && std::next_permutation(order.begin(), order.end()));
  }
  return mapping;
}

/// isl's scheduler on the flow dependences between the instances of all computations.
Mapping scheduled_by_isl(const Mapping &mapping) {
  const Program program = build_program(mapping);
  isl::union_set domain = isl::union_set::empty(isl_context());
  std::map<std::string, std::string> computation_of;
  const auto is_scheduled = [](const Statement &statement) {
    return statement.role != StatementRole::Initialise;
  };
  for (const Statement &statement : program.statements) {
    if (is_scheduled(statement)) {
      const std::string &name = statement.computation->name;
      computation_of[statement.name] = name;
      domain =
          domain.unite(isl::union_set(statement.domain.set_tuple_id(isl::id(isl_context(), name))));
    }
  }
  isl::union_map validity = isl::union_map::empty(isl_context());
  for (const Dependence &dependence : flow_dependences(program)) {
    if (computation_of.count(dependence.source) != 0 &&
        computation_of.count(dependence.sink) != 0) {
      isl::map relation = dependence.relation;
      relation = isl::manage(isl_map_set_tuple_id(
          relation.release(), isl_dim_in,
          isl::id(isl_context(), computation_of[dependence.source]).release()));
      relation = isl::manage(
          isl_map_set_tuple_id(relation.release(), isl_dim_out,
                               isl::id(isl_context(), computation_of[dependence.sink]).release()));
      validity = validity.unite(isl::union_map(relation));
    }
  }
  isl_schedule_constraints *constraints = isl_schedule_constraints_on_domain(domain.copy());
  constraints = isl_schedule_constraints_set_validity(constraints, validity.copy());
  constraints = isl_schedule_constraints_set_proximity(constraints, validity.copy());
  const isl::schedule schedule =
      isl::manage(isl_schedule_constraints_compute_schedule(constraints));
  const isl::union_map times =
      checked(checked(schedule, "isl's scheduler").get_map(), "isl's scheduler");
  Mapping result = mapping;
  const isl::stat status = times.foreach_map([&](const isl::map &map) {
    const std::string name = map.domain_tuple_id().name();
    result = planned(result, name, "set_schedule", {to_text(map)});
    return isl::stat::ok();
  });
  if (status.is_error()) {
    throw_isl_error("isl's scheduler");
  }
  return result;
}

} // namespace

Mapping default_mapping(const std::shared_ptr<const Function> &function) {
  const Mapping identity(function);
  const std::vector<std::vector<std::string>> groups = recurrence_groups(*function);
  Mapping mapping = identity;
  for (const std::vector<std::string> &group : groups) {
    mapping = fused(mapping, group);
  }
  if (!is_legal(mapping)) {
    Mapping candidate = scheduled_by_isl(identity);
    if (is_legal(candidate)) {
      mapping = candidate;
    }
  }
  return mapping.as_starting_point();
}

} // namespace tilewright
