#include "planning/default_mapping.h"

#include "algorithm/block.h"
#include "analysis/legality.h"
#include "mapping/program.h"
#include "planning/auto/flow_graph.h"
#include "planning/common_loops.h"
#include "planning/iterations.h"
#include "planning/recurrence_groups.h"
#include "planning/views_in_place.h"

#include <isl/schedule.h>

#include <algorithm>
#include <functional>
#include <set>

namespace tilewright {

namespace {

/// What isl's scheduler may take for one order of some computations. It counts pivots of a tableau,
/// which grows by cuts while it finds no integer point: those that it may take for two computations
/// take some seconds. Orders that are found need fewer, and more for more computations.
std::uint64_t scheduler_operation_limit(std::size_t computations) {
  constexpr std::uint64_t least = 40'000, most = 200'000;
  return std::clamp<std::uint64_t>(5'000 * computations * computations * computations, least, most);
}

/// isl's scheduler finds no order, as where any earlier element may be read.
struct NoOrder {};

/// What `attempt` finds; nothing where there is no order, or it needs more operations than its
/// limit allows.
template <class Attempt>
auto within_limits(const Attempt &attempt) -> decltype(attempt()) {
  try {
    return attempt();
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return {};
  } catch (const NoOrder &) {
    return {};
  }
}

std::shared_ptr<const LegalProgram> legal_program(const Mapping &mapping) {
  return within_limits([&] { return find_legal(build_program(mapping)); });
}

/// A command of the planner itself: it is not part of the person's schedule.
Mapping planned(const Mapping &mapping, const std::string &computation, const std::string &name,
                std::vector<Argument> arguments) {
  return mapping.with({computation, name, std::move(arguments), {}});
}

/// The times that isl's scheduler gives to the instances of `computations`, from the flow
/// dependences among them.
std::vector<isl::map> times_by_isl(const Program &program,
                                   const std::set<std::string> &computations) {
  const FlowGraph graph = flow_graph(program, computations);
  isl::union_set domain = isl::union_set::empty(isl_context());
  for (const FlowGraph::Node &node : graph.nodes) {
    domain = domain.unite(isl::union_set(node.domain));
  }
  isl::union_map validity = isl::union_map::empty(isl_context());
  for (const FlowGraph::Edge &edge : graph.flow) {
    validity = validity.unite(isl::union_map(edge.relation));
  }
  const OperationLimit limit(scheduler_operation_limit(graph.nodes.size()));
  isl_schedule_constraints *constraints = isl_schedule_constraints_on_domain(domain.copy());
  constraints = isl_schedule_constraints_set_validity(constraints, validity.copy());
  constraints = isl_schedule_constraints_set_proximity(constraints, validity.copy());
  const isl::schedule schedule =
      isl::manage(isl_schedule_constraints_compute_schedule(constraints));
  if (schedule.is_null() && isl_ctx_last_error(isl_context().get()) == isl_error_unknown) {
    isl_ctx_reset_error(isl_context().get());
    throw NoOrder();
  }
  const isl::union_map times =
      checked(checked(schedule, "isl's scheduler").get_map(), "isl's scheduler");
  std::vector<isl::map> result;
  const isl::stat status = times.foreach_map([&](const isl::map &map) {
    result.push_back(map);
    return isl::stat::ok();
  });
  if (status.is_error()) {
    throw_isl_error("isl's scheduler");
  }
  return result;
}

/// isl's scheduler on all computations together.
Mapping scheduled_together(const Mapping &mapping) {
  std::set<std::string> all;
  for (const ComputationPtr &computation : mapping.function().computations) {
    all.insert(computation->name);
  }
  Mapping result = mapping;
  for (const isl::map &time : times_by_isl(build_program(mapping), all)) {
    result = planned(result, time.domain_tuple_id().name(), "set_schedule", {to_text(time)});
  }
  return result;
}

/// Behind `number`: the same times after those of all smaller numbers.
isl::map numbered(const isl::map &time, size_t number) {
  isl_map *result = isl_map_reset_tuple_id(time.copy(), isl_dim_out);
  result = isl_map_insert_dims(result, isl_dim_out, 0, 1);
  result = isl_map_fix_si(result, isl_dim_out, 0, static_cast<int>(number));
  return checked(isl::manage(result), "isl's scheduler");
}

/// One group of computations that need each other after the other, in the order that isl's
/// scheduler gives it alone. A group ends where the last of its members stands in the function:
/// what it reads stands before, what reads it behind.
Mapping scheduled_apart(const Mapping &mapping,
                        const std::vector<std::vector<std::string>> &groups) {
  const Function &function = mapping.function();
  const Program program = build_program(mapping);
  std::map<std::string, size_t> group_of;
  for (size_t g = 0; g < groups.size(); ++g) {
    for (const std::string &name : groups[g]) {
      group_of[name] = g;
    }
  }
  std::map<size_t, std::set<std::string>> members; // by the position of the last one
  std::map<size_t, size_t> last;
  for (size_t c = function.computations.size(); c-- > 0;) {
    const std::string &name = function.computations[c]->name;
    const auto group = group_of.find(name);
    const size_t number =
        group == group_of.end() ? c : last.emplace(group->second, c).first->second;
    members[number].insert(name);
  }
  Mapping result = mapping;
  for (const auto &[number, names] : members) {
    const Computation &first = **function.find(*names.begin());
    std::vector<isl::map> times;
    if (names.size() == 1 && computations_read_by(first).count(first.name) == 0) {
      times.push_back(isl::manage(isl_set_identity(instance_space(first).domain.release())));
    } else {
      times = times_by_isl(program, names);
    }
    for (const isl::map &time : times) {
      result = planned(result, time.domain_tuple_id().name(), "set_schedule",
                       {to_text(numbered(time, number))});
    }
  }
  return result;
}

PlannedMapping plan_loops(const std::shared_ptr<const Function> &function) {
  if (function->stop) {
    return plan_iterations(function, legal_program);
  }
  const Mapping identity(function);
  const std::vector<std::vector<std::string>> groups = recurrence_groups(*function);
  Mapping mapping = identity;
  if (groups.empty()) {
    if (auto legal = legal_program(mapping)) {
      return {mapping.recorded_as({}), std::move(legal), true};
    }
  }
  const std::vector<Mapping> fused = within_limits([&] {
    return groups.empty() ? std::vector<Mapping>() : in_common_loops_by_flow(identity, groups);
  });
  for (const Mapping &each : fused) {
    if (auto legal = legal_program(each)) {
      return {each.recorded_as({}), std::move(legal)};
    }
  }
  if (!fused.empty()) {
    for (const std::vector<std::string> &group : groups) {
      mapping = in_common_loops_by_trial(
          mapping, group, [](const Mapping &each) { return legal_program(each) != nullptr; });
    }
    if (auto legal = legal_program(mapping)) {
      return {mapping.recorded_as({}), std::move(legal)};
    }
  }
  if (!blocks_of(*function).empty()) {
    return {mapping.recorded_as({}), nullptr}; // isl would give times to what blocks write
  }
  // Together knows nothing of the initialisation of reductions; apart keeps it before its readers.
  for (const bool apart : {false, true}) {
    const std::optional<Mapping> candidate = within_limits([&]() -> std::optional<Mapping> {
      return apart ? scheduled_apart(identity, groups) : scheduled_together(identity);
    });
    auto legal = candidate ? legal_program(*candidate) : nullptr;
    if (legal) {
      return {candidate->recorded_as({}), std::move(legal)};
    }
  }
  return {mapping.recorded_as({}), nullptr};
}

} // namespace

PlannedMapping plan_default(const std::shared_ptr<const Function> &function) {
  PlannedMapping planned = plan_loops(function);
  if (planned.legal == nullptr || function->stop) {
    return planned;
  }
  std::shared_ptr<const LegalProgram> before = planned.legal; // of the step before
  const auto still_legal = [&](const Mapping &mapping) {
    auto legal = within_limits(
        [&] { return find_legal(build_program(mapping, &before->program), before.get()); });
    before = legal != nullptr ? legal : before;
    return legal;
  };
  if (auto legal = store_views_in_place(planned.mapping, still_legal)) {
    return {planned.mapping.recorded_as({}), std::move(legal)};
  }
  return planned;
}

Mapping default_mapping(const std::shared_ptr<const Function> &function) {
  return plan_default(function).mapping;
}

} // namespace tilewright
