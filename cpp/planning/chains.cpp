#include "planning/chains.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>

namespace tilewright {

namespace {

constexpr const char *doing_chains = "chains side by side";
/// As many as hide the latency of a sum of several terms, and still have registers.
constexpr std::int64_t chains_at_once = 8;
/// Chains further behind each other than this leave too little of a tile between its borders.
constexpr std::int64_t most_skew = 4;
/// Of waiting to work. Below, plain loops are as fast.
constexpr double worth_waiting = 0.3;

/// [the loops outside, around, inner] of an instance.
isl::map times_of(const isl::set &domain, const ChainLoops &loops) {
  isl::map times = isl::map::from_domain(domain);
  for (const isl::pw_aff &loop : loops.outside) {
    times = times.flat_range_product(loop.as_map());
  }
  return checked(
      times.flat_range_product(loops.around.as_map()).flat_range_product(loops.inner.as_map()),
      doing_chains);
}

/// How far instances that need each other are apart: { [around, inner] }, of the same iteration of
/// all loops outside.
isl::set distances(const FlowGraph &graph, const std::map<std::string, ChainLoops> &loops) {
  isl::set all(isl_context(), "{ [a, b] : false }");
  for (const FlowGraph::Edge &edge : graph.flow) {
    const auto source = loops.find(edge.source);
    const auto sink = loops.find(edge.sink);
    if (source == loops.end() || sink == loops.end()) {
      continue;
    }
    const auto outside = static_cast<unsigned>(source->second.outside.size());
    isl_map *pairs = edge.relation.copy();
    pairs = isl_map_apply_domain(
        pairs, times_of(graph.find(edge.source)->domain, source->second).release());
    pairs =
        isl_map_apply_range(pairs, times_of(graph.find(edge.sink)->domain, sink->second).release());
    isl_set *apart = isl_map_deltas(pairs);
    for (unsigned d = 0; d < outside; ++d) {
      apart = isl_set_fix_si(apart, isl_dim_set, d, 0);
    }
    apart = isl_set_project_out(apart, isl_dim_set, 0, outside);
    apart = isl_set_project_out(apart, isl_dim_param, 0,
                                static_cast<unsigned>(isl_set_dim(apart, isl_dim_param)));
    all = all.unite(isl::manage(apart));
  }
  return checked(all, doing_chains);
}

bool has(const isl::set &distances, const std::string &condition) {
  const isl::set wanted(isl_context(), "{ [a, b] : " + condition + " }");
  return !checked(distances.intersect(wanted).is_empty(), doing_chains);
}

} // namespace

std::vector<Command> Chains::commands(const std::string &computation, const std::string &around,
                                      const std::string &inner) const {
  const std::string chain = around + "1";
  std::vector<Command> commands = {{computation, "split", {around, count}, {}}};
  if (skew != 0) {
    commands.push_back({computation, "skew", {chain, inner, skew}, {}});
  }
  commands.push_back({computation, "reorder", {inner, chain}, {}});
  commands.push_back({computation, "unroll", {chain, count}, {}});
  return commands;
}

std::string Chains::why(const std::string &around, const std::string &inner) const {
  std::string text = std::to_string(count) + " iterations of " + around + " run side by side";
  if (skew != 0) {
    text += ", each " + std::to_string(skew) + (skew == 1 ? " iteration" : " iterations") + " of " +
            inner + " behind the one before it";
  }
  return text + ", since those of " + inner + " wait for each other";
}

bool is_worth_chains(const IterationCost &cost) { return cost.wait >= worth_waiting * cost.work; }

std::optional<Chains> find_chains(const FlowGraph &graph,
                                  const std::map<std::string, ChainLoops> &loops) {
  const isl::set apart = distances(graph, loops);
  if (!has(apart, "a = 0 and b = 1")) {
    return std::nullopt;
  }
  for (std::int64_t skew = 0; skew <= most_skew; ++skew) {
    const std::string at_once = "1 <= a < " + std::to_string(chains_at_once) + " and b + " +
                                std::to_string(skew) + " a <= 0";
    if (!has(apart, at_once)) {
      return Chains{chains_at_once, skew};
    }
  }
  return std::nullopt;
}

} // namespace tilewright
