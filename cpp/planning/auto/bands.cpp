#include "planning/auto/bands.h"

#include <isl/aff.h>
#include <isl/options.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace tilewright {

namespace {

constexpr const char *doing_bands = "isl's scheduler";

/// An option of isl's scheduler while this lives.
class Choice {
public:
  using Set = isl_stat (*)(isl_ctx *, int);
  Choice(int (*get)(isl_ctx *), Set set, int value) : set_(set), before_(get(isl_context().get())) {
    set_(isl_context().get(), value);
  }
  ~Choice() { set_(isl_context().get(), before_); }
  Choice(const Choice &) = delete;
  Choice &operator=(const Choice &) = delete;

private:
  Set set_;
  int before_;
};

isl::union_map together(const std::vector<FlowGraph::Edge> &edges,
                        const std::set<std::string> &among) {
  isl::union_map all = isl::union_map::empty(isl_context());
  for (const FlowGraph::Edge &edge : edges) {
    if (among.contains(edge.source) && among.contains(edge.sink)) {
      all = all.unite(isl::union_map(edge.relation));
    }
  }
  return checked(all, doing_bands);
}

/// Inputs that two computations read bring these together only where no values do: else what is
/// close by an input would be far by a value.
std::vector<FlowGraph::Edge> reuse_apart_from_flow(const FlowGraph &graph) {
  std::map<std::string, std::string> group_of;
  for (const FlowGraph::Node &node : graph.nodes) {
    group_of[node.name] = node.name;
  }
  for (const FlowGraph::Edge &edge : graph.flow) {
    const std::string from = group_of.at(edge.source);
    const std::string to = group_of.at(edge.sink);
    for (auto &[name, group] : group_of) {
      group = group == from ? to : group;
    }
  }
  std::vector<FlowGraph::Edge> apart;
  std::copy_if(graph.reuse.begin(), graph.reuse.end(), std::back_inserter(apart),
               [&](const FlowGraph::Edge &edge) {
                 return group_of.at(edge.source) != group_of.at(edge.sink);
               });
  return apart;
}

/// Relations without what they say of parameters alone. Numbers as bounds of parameters (a size of
/// at most 2000, since an array is declared so) decide nothing here, and isl's search for whole
/// coefficients may take hours over them.
isl::union_map without_bounds_of_parameters(isl::union_map relations, const isl::set &known) {
  return checked(isl::manage(isl_union_map_gist_params(relations.release(), known.copy())),
                 doing_bands);
}

isl::schedule compute(const FlowGraph &graph, const std::set<std::string> &among) {
  isl::union_set domain = isl::union_set::empty(isl_context());
  for (const FlowGraph::Node &node : graph.nodes) {
    if (among.contains(node.name)) {
      domain = domain.unite(isl::union_set(node.domain));
    }
  }
  const isl::set known = checked(isl::manage(isl_union_set_params(domain.copy())), doing_bands);
  domain =
      checked(isl::manage(isl_union_set_gist_params(domain.release(), known.copy())), doing_bands);
  const auto between = [&](const std::vector<FlowGraph::Edge> &edges) {
    return without_bounds_of_parameters(together(edges, among), known);
  };
  const isl::union_map validity = between(graph.flow);
  const isl::union_map coincidence = validity.unite(between(graph.updates));
  const isl::union_map proximity = validity.unite(between(reuse_apart_from_flow(graph)));
  const Choice by_clusters(isl_options_get_schedule_whole_component,
                           isl_options_set_schedule_whole_component, 0);
  const Choice deep(isl_options_get_schedule_maximize_band_depth,
                    isl_options_set_schedule_maximize_band_depth, 1);
  const Choice fused(isl_options_get_schedule_maximize_coincidence,
                     isl_options_set_schedule_maximize_coincidence, 0);
  isl_schedule_constraints *constraints = isl_schedule_constraints_on_domain(domain.copy());
  constraints = isl_schedule_constraints_set_validity(constraints, validity.copy());
  constraints = isl_schedule_constraints_set_coincidence(constraints, coincidence.copy());
  constraints = isl_schedule_constraints_set_proximity(constraints, proximity.copy());
  return isl::manage(isl_schedule_constraints_compute_schedule(constraints));
}

Band band_at(const isl::schedule_node &node, const FlowGraph &graph) {
  Band band;
  band.permutable = isl_schedule_node_band_get_permutable(node.get()) == isl_bool_true;
  const isl_size members = isl_schedule_node_band_n_member(node.get());
  for (isl_size m = 0; m < members; ++m) {
    band.coincident.push_back(isl_schedule_node_band_member_get_coincident(node.get(), m) ==
                              isl_bool_true);
  }
  const isl::union_set domain = isl::manage(isl_schedule_node_get_domain(node.get()));
  const isl::multi_union_pw_aff times =
      isl::manage(isl_schedule_node_band_get_partial_schedule(node.get()));
  for (const FlowGraph::Node &computation : graph.nodes) {
    if (checked(domain.intersect(isl::union_set(computation.domain)).is_empty(), doing_bands)) {
      continue;
    }
    band.computations.push_back(computation.name);
    std::vector<isl::pw_aff> &loops = band.loops[computation.name];
    isl::space functions = isl::manage(isl_space_add_dims(
        isl_space_from_domain(computation.domain.space().release()), isl_dim_out, 1));
    for (isl_size m = 0; m < members; ++m) {
      isl_union_pw_aff *all = isl_multi_union_pw_aff_get_at(times.get(), m);
      loops.push_back(checked(isl::manage(isl_union_pw_aff_extract_pw_aff(all, functions.copy())),
                              doing_bands));
      isl_union_pw_aff_free(all);
    }
  }
  return band;
}

/// The bands that no other band is around.
void collect(const isl::schedule_node &node, const FlowGraph &graph, std::vector<Band> &bands) {
  if (isl_schedule_node_get_type(node.get()) == isl_schedule_node_band) {
    bands.push_back(band_at(node, graph));
    return;
  }
  const isl_size children = isl_schedule_node_n_children(node.get());
  for (isl_size c = 0; c < children; ++c) {
    collect(isl::manage(isl_schedule_node_get_child(node.get(), c)), graph, bands);
  }
}

} // namespace

std::optional<std::vector<Band>> find_bands(const FlowGraph &graph,
                                            const std::vector<std::string> &computations,
                                            std::uint64_t operations) {
  try {
    const OperationLimit limit(operations);
    isl::schedule schedule =
        compute(graph, std::set<std::string>(computations.begin(), computations.end()));
    if (schedule.is_null() && isl_ctx_last_error(isl_context().get()) == isl_error_unknown) {
      isl_ctx_reset_error(isl_context().get());
      return std::nullopt; // there is no order, as where any earlier element may be read
    }
    schedule = checked(schedule, doing_bands);
    std::vector<Band> bands;
    collect(checked(isl::manage(isl_schedule_get_root(schedule.get())), doing_bands), graph, bands);
    return bands;
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return std::nullopt;
  }
}

} // namespace tilewright
