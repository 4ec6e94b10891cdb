#include "planning/common_loops.h"

#include "algorithm/predicates.h"
#include "algorithm/reductions.h"
#include "mapping/compare_loops.h"
#include "mapping/program.h"
#include "planning/auto/flow_graph.h"

#include <isl/aff.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tilewright {

namespace {

constexpr const char *doing_common_loops = "the common loops of a recurrence";

Command placed(const std::string &computation, const char *how, const std::string &other,
               const Mapping &mapping, size_t shared) {
  const std::string &level = mapping.time_space(other).dimensions[shared - 1].name;
  return {computation, how, {other, level}, {}};
}

/// The members of a group in common outer loops, one after the other in each iteration, all of them
/// behind what the first one follows.
Mapping behind_the_first(const Mapping &mapping, const std::vector<std::string> &order,
                         size_t shared) {
  Mapping result = mapping;
  for (size_t m = 1; m < order.size(); ++m) {
    result = result.with(placed(order[m], "after", order[m - 1], result, shared));
  }
  return result;
}

/// The same where the last one of them stands in the function: all that one of them reads stands
/// before that.
Mapping around_the_last(const Mapping &mapping, const std::vector<std::string> &order,
                        size_t shared) {
  const std::vector<ComputationPtr> &all = mapping.function().computations;
  const auto last = std::find_if(all.rbegin(), all.rend(), [&](const ComputationPtr &each) {
    return std::find(order.begin(), order.end(), each->name) != order.end();
  });
  const auto base =
      static_cast<size_t>(std::find(order.begin(), order.end(), (*last)->name) - order.begin());
  Mapping result = mapping;
  for (size_t m = base; m > 0; --m) {
    result = result.with(placed(order[m - 1], "before", order[m], result, shared));
  }
  for (size_t m = base + 1; m < order.size(); ++m) {
    result = result.with(placed(order[m], "after", order[m - 1], result, shared));
  }
  return result;
}

/// So many outer loops all members have. Iterators that data pick for each term of a sum
/// (planning/picked_updates.h) stand inside of its terms, if there are others outside.
size_t common_rank(const Mapping &mapping, const std::vector<std::string> &group) {
  size_t common = SIZE_MAX;
  for (const std::string &name : group) {
    const Computation &computation = **mapping.function().find(name);
    size_t rank = computation.rank();
    const ExprPtr reduction = scheduled_reduction(computation);
    const Expr *terms = reduction ? reduction_of(*reduction) : nullptr;
    const auto picked = compared_iterators(terms != nullptr ? terms->predicate : nullptr);
    for (size_t d = rank; d-- > 1 && !picked.empty();) {
      rank = picked.contains(computation.iterators[d]) ? d : rank;
    }
    common = std::min(common, rank);
  }
  return common;
}

/// What the flow of values from one member of a group to another one asks of their common loops.
struct OrderedFlow {
  std::string source;
  std::string sink;
  size_t forward = 0;         ///< so many outermost loops never go against it
  std::vector<bool> together; ///< by a number of loops: some pair has the same values of them
};

OrderedFlow ordered_flow(const Mapping &mapping, const FlowGraph::Edge &edge) {
  const std::vector<LoopDimension> &first = mapping.time_space(edge.source).dimensions;
  const std::vector<LoopDimension> &second = mapping.time_space(edge.sink).dimensions;
  const size_t loops = std::min(first.size(), second.size());
  OrderedFlow flow{edge.source, edge.sink, loops, {true}};
  isl::map pairs = edge.relation;
  for (size_t level = 0; level < loops; ++level) {
    const isl::pw_aff &one = first[level].value;
    const isl::pw_aff &other = second[level].value;
    const ComparedLoops by_order = compare_loops(pairs, one, other, false);
    if (!checked(by_order.larger.is_empty(), doing_common_loops)) {
      flow.forward = level;
      break;
    }
    pairs = by_order.equal;
    flow.together.push_back(!checked(pairs.is_empty(), doing_common_loops));
    if (!flow.together.back()) {
      break; // all of it goes forward, whatever is inside
    }
  }
  flow.together.resize(loops + 1, false);
  return flow;
}

/// A flow of values and its pairs of instances that outer loops do not tell apart.
struct OpenFlow {
  const FlowGraph::Edge *edge;
  isl::map pairs;
};

/// `mapping`, in which loops run backwards if all these flows go against them there: level by
/// level, the loop of each member.
Mapping along_flows(Mapping mapping, std::vector<OpenFlow> flows,
                    const std::vector<std::string> &members, size_t levels) {
  for (size_t level = 0; level < levels && !flows.empty(); ++level) {
    const auto loop_of = [&](const std::string &name) {
      return mapping.time_space(name).dimensions[level];
    };
    bool against = false;
    bool along = false;
    for (OpenFlow &flow : flows) {
      const ComparedLoops by_order = compare_loops(flow.pairs, loop_of(flow.edge->source).value,
                                                   loop_of(flow.edge->sink).value);
      against = against || !checked(by_order.larger.is_empty(), doing_common_loops);
      along = along || !checked(by_order.smaller.is_empty(), doing_common_loops);
      flow.pairs = by_order.equal;
    }
    if (against && along) {
      break;
    }
    for (const std::string &name : members) {
      mapping = against ? mapping.with({name, "reverse", {loop_of(name).name}, {}}) : mapping;
    }
  }
  return mapping;
}

/// The members of a group with loops backwards where all that they need of each other is behind,
/// and then those of one member where all is that it needs of itself: the second sweep of an
/// alternating direction, inside the steps of time.
Mapping along_flow(Mapping mapping, const FlowGraph &graph, const std::vector<std::string> &group,
                   size_t common) {
  const auto is_member = [&](const std::string &name) {
    return std::find(group.begin(), group.end(), name) != group.end();
  };
  std::vector<OpenFlow> all;
  std::map<std::string, std::vector<OpenFlow>> own;
  for (const FlowGraph::Edge &edge : graph.flow) {
    if (is_member(edge.source) && is_member(edge.sink)) {
      all.push_back({&edge, edge.relation});
    }
    if (edge.source == edge.sink && is_member(edge.source)) {
      own[edge.source].push_back({&edge, edge.relation});
    }
  }
  mapping = along_flows(std::move(mapping), std::move(all), group, common);
  for (auto &[name, flows] : own) {
    const size_t loops = mapping.time_space(name).dimensions.size();
    mapping = along_flows(std::move(mapping), std::move(flows), {name}, loops);
  }
  return mapping;
}

/// The first order by name of the members, in which each is behind those that it needs in the same
/// iteration of their `shared` common loops; nothing if these loops cannot be common.
std::optional<std::vector<std::string>> order_in_loops(const std::vector<OrderedFlow> &flows,
                                                       const std::vector<std::string> &group,
                                                       size_t shared) {
  std::map<std::string, std::set<std::string>> needed;
  for (const std::string &name : group) {
    needed[name];
  }
  for (const OrderedFlow &flow : flows) {
    const bool alone = flow.source == flow.sink; // its own loops are inside
    if (flow.forward < (alone ? flow.together.size() - 1 : shared)) {
      return std::nullopt;
    }
    if (!alone && flow.together[shared]) {
      needed[flow.sink].insert(flow.source);
    }
  }
  std::vector<std::string> order;
  while (!needed.empty()) {
    const auto next = std::find_if(needed.begin(), needed.end(),
                                   [](const auto &entry) { return entry.second.empty(); });
    if (next == needed.end()) {
      return std::nullopt;
    }
    const std::string name = next->first;
    needed.erase(next);
    for (auto &[other, sources] : needed) {
      sources.erase(name);
    }
    order.push_back(name);
  }
  return order;
}

/// The members of a group in the order in which they run in their common loops.
struct CommonLoops {
  std::vector<std::string> order;
  size_t shared; ///< so many, which is as many as can be
};

/// Nothing if the group can have no such loops.
std::optional<CommonLoops> common_loops(const Mapping &mapping, const FlowGraph &graph,
                                        const std::vector<std::string> &group) {
  const auto is_member = [&](const std::string &name) {
    return std::find(group.begin(), group.end(), name) != group.end();
  };
  std::vector<OrderedFlow> flows;
  for (const FlowGraph::Edge &edge : graph.flow) {
    if (is_member(edge.source) && is_member(edge.sink)) {
      flows.push_back(ordered_flow(mapping, edge));
    }
  }
  for (size_t shared = common_rank(mapping, group); shared > 0; --shared) {
    if (auto order = order_in_loops(flows, group, shared)) {
      return CommonLoops{std::move(*order), shared};
    }
  }
  return std::nullopt;
}

} // namespace

std::vector<Mapping> in_common_loops_by_flow(const Mapping &given,
                                             const std::vector<std::vector<std::string>> &groups) {
  std::set<std::string> members;
  for (const std::vector<std::string> &group : groups) {
    members.insert(group.begin(), group.end());
  }
  const FlowGraph graph = flow_graph(build_program(given), members);
  Mapping mapping = given;
  std::vector<CommonLoops> found;
  for (const std::vector<std::string> &group : groups) {
    std::optional<CommonLoops> loops = common_loops(mapping, graph, group);
    if (!loops) {
      mapping = along_flow(std::move(mapping), graph, group, common_rank(given, group));
      loops = common_loops(mapping, graph, group);
    }
    if (!loops) {
      return {};
    }
    found.push_back(std::move(*loops));
  }
  Mapping first = mapping;
  Mapping last = mapping;
  for (const CommonLoops &each : found) {
    first = behind_the_first(first, each.order, each.shared);
    last = around_the_last(last, each.order, each.shared);
  }
  return {std::move(first), std::move(last)};
}

Mapping in_common_loops_by_trial(const Mapping &mapping, const std::vector<std::string> &group,
                                 const std::function<bool(const Mapping &)> &is_legal) {
  constexpr size_t max_members = 4;
  for (size_t shared = common_rank(mapping, group); shared > 0; --shared) {
    std::vector<std::string> order = group;
    std::sort(order.begin(), order.end());
    do {
      Mapping candidate = behind_the_first(mapping, order, shared);
      if (is_legal(candidate)) {
        return candidate;
      }
    } while (order.size() <= max_members && std::next_permutation(order.begin(), order.end()));
  }
  return mapping;
}

} // namespace tilewright
