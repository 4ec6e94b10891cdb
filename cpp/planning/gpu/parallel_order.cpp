#include "planning/gpu/parallel_order.h"

#include "analysis/program_relations.h"
#include "mapping/accesses.h"
#include "planning/auto/flow_graph.h"

#include <isl/aff.h>
#include <isl/options.h>
#include <isl/schedule.h>
#include <isl/schedule_node.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

constexpr const char *doing_parallel_order = "isl's scheduler";

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

/// Instances of statements as instances of the computations: an element that is begun or finished
/// stands for its terms.
class Instances {
public:
  explicit Instances(const Program &program) {
    for (const Statement &statement : program.statements) {
      if (statement.role == StatementRole::Update) {
        updates_[statement.computation->name] = &statement;
      }
    }
  }

  /// statement instance -> computation[iterators].
  isl::map of(const Statement &statement) const {
    const std::string &name = statement.computation->name;
    const auto update = updates_.find(name);
    isl::map relation = isl::map::identity(statement.domain.space().map_from_set());
    if (statement.role != StatementRole::Value && statement.role != StatementRole::Update &&
        update != updates_.end()) {
      relation = defined_value(statement).apply_range(defined_value(*update->second).reverse());
    }
    return checked(isl::manage(isl_map_set_tuple_id(relation.release(), isl_dim_out,
                                                    isl::id(isl_context(), name).release())),
                   doing_parallel_order);
  }

private:
  std::map<std::string, const Statement *> updates_;
};

struct Constraints {
  isl::union_set domain = isl::union_set::empty(isl_context());
  isl::union_map validity = isl::union_map::empty(isl_context());
  isl::union_map coincidence = isl::union_map::empty(isl_context());
  isl::union_map proximity = isl::union_map::empty(isl_context());
};

Constraints constraints_of(const Program &program, const FlowGraph &graph) {
  Constraints all;
  for (const FlowGraph::Node &node : graph.nodes) {
    all.domain = all.domain.unite(isl::union_set(node.domain));
  }
  for (const FlowGraph::Edge &edge : graph.flow) {
    all.validity = all.validity.unite(isl::union_map(edge.relation));
  }
  all.proximity = all.validity;
  const Instances instances(program);
  for (const Overwriting &each : overwriting_pairs(program)) {
    isl::map overwritten = each.pairs;
    if (each.first->computation == each.second->computation &&
        (each.first->role != StatementRole::Value || each.second->role != StatementRole::Value)) {
      // One element is begun, summed up and finished in this order whatever the loops are; its
      // terms are updates of the graph.
      overwritten = overwritten.subtract(
          defined_value(*each.first).apply_range(defined_value(*each.second).reverse()));
    }
    const isl::map pairs =
        overwritten.apply_domain(instances.of(*each.first)).apply_range(instances.of(*each.second));
    all.validity = all.validity.unite(isl::union_map(checked(pairs, doing_parallel_order)));
  }
  all.coincidence = all.validity;
  for (const FlowGraph::Edge &edge : graph.updates) {
    all.coincidence = all.coincidence.unite(isl::union_map(edge.relation));
  }
  return all;
}

/// Bounds of parameters decide nothing here, and isl's search for whole coefficients may take hours
/// over them.
void forget_bounds_of_parameters(Constraints &all) {
  const isl::set known =
      checked(isl::manage(isl_union_set_params(all.domain.copy())), doing_parallel_order);
  all.domain = checked(isl::manage(isl_union_set_gist_params(all.domain.release(), known.copy())),
                       doing_parallel_order);
  for (isl::union_map *each : {&all.validity, &all.coincidence, &all.proximity}) {
    *each = checked(isl::manage(isl_union_map_gist_params(each->release(), known.copy())),
                    doing_parallel_order);
  }
}

isl::schedule scheduled(const Constraints &all) {
  const Choice by_clusters(isl_options_get_schedule_whole_component,
                           isl_options_set_schedule_whole_component, 0);
  const Choice fused(isl_options_get_schedule_maximize_coincidence,
                     isl_options_set_schedule_maximize_coincidence, 1);
  const Choice outermost(isl_options_get_schedule_outer_coincidence,
                         isl_options_set_schedule_outer_coincidence, 1);
  isl_schedule_constraints *constraints = isl_schedule_constraints_on_domain(all.domain.copy());
  constraints = isl_schedule_constraints_set_validity(constraints, all.validity.copy());
  constraints = isl_schedule_constraints_set_coincidence(constraints, all.coincidence.copy());
  constraints = isl_schedule_constraints_set_proximity(constraints, all.proximity.copy());
  return isl::manage(isl_schedule_constraints_compute_schedule(constraints));
}

/// Reads a tree of bands as times.
class TreeReader {
public:
  /// `needs`: the pairs of instances that cannot run at once.
  TreeReader(const FlowGraph &graph, const isl::union_map &needs, ParallelOrder &order)
      : graph_(graph), order_(order), needs_(needs) {}

  void read(const isl::schedule_node &node) {
    const isl_schedule_node_type type = isl_schedule_node_get_type(node.get());
    if (type == isl_schedule_node_band) {
      read_band(node);
    }
    const isl_size children = isl_schedule_node_n_children(node.get());
    const bool in_turns = type == isl_schedule_node_sequence || type == isl_schedule_node_set;
    for (isl_size c = 0; c < children; ++c) {
      const isl::schedule_node child = isl::manage(isl_schedule_node_get_child(node.get(), c));
      if (in_turns) {
        for (const FlowGraph::Node *each : members_of(filtered(child))) {
          order_[each->name].push_back({number(*each, c), true, false, -1});
        }
      }
      read(child);
    }
  }

private:
  static isl::schedule_node filtered(const isl::schedule_node &child) {
    return isl::manage(isl_schedule_node_get_child(child.get(), 0));
  }

  static isl::pw_aff number(const FlowGraph::Node &node, isl_size value) {
    isl_local_space *space = isl_local_space_from_space(node.domain.space().release());
    return isl::manage(isl_pw_aff_from_aff(
        isl_aff_val_on_domain(space, isl_val_int_from_si(isl_context().get(), value))));
  }

  std::vector<const FlowGraph::Node *> members_of(const isl::schedule_node &node) const {
    const isl::union_set domain = isl::manage(isl_schedule_node_get_domain(node.get()));
    std::vector<const FlowGraph::Node *> members;
    for (const FlowGraph::Node &each : graph_.nodes) {
      if (!checked(domain.intersect(isl::union_set(each.domain)).is_empty(),
                   doing_parallel_order)) {
        members.push_back(&each);
      }
    }
    return members;
  }

  void read_band(const isl::schedule_node &node) {
    const isl::multi_union_pw_aff times =
        isl::manage(isl_schedule_node_band_get_partial_schedule(node.get()));
    const Parallelism found = parallelism(node, times);
    for (const FlowGraph::Node *each : members_of(node)) {
      const isl::space functions = isl::manage(isl_space_add_dims(
          isl_space_from_domain(each->domain.space().release()), isl_dim_out, 1));
      for (size_t m = 0; m < found.coincident.size(); ++m) {
        isl_union_pw_aff *all = isl_multi_union_pw_aff_get_at(times.get(), static_cast<int>(m));
        order_[each->name].push_back(
            {checked(isl::manage(isl_union_pw_aff_extract_pw_aff(all, functions.copy())),
                     doing_parallel_order),
             false, found.coincident[m], bands_ + static_cast<int>(std::min(m, found.around))});
        isl_union_pw_aff_free(all);
      }
    }
    bands_ += static_cast<int>(found.around) + 1;
  }

  struct Parallelism {
    std::vector<bool> coincident; ///< of each loop of a band
    size_t around = 0;            ///< so many outermost ones carry what the others need
  };

  /// The loops whose iterations need nothing of each other, but for what is ordered by loops
  /// around: by those of other bands, or, if there is none then, by the outermost ones of this
  /// band. isl does not say so of what is left when a loop has carried everything.
  Parallelism parallelism(const isl::schedule_node &node,
                          const isl::multi_union_pw_aff &times) const {
    const isl::union_set domain = isl::manage(isl_schedule_node_get_domain(node.get()));
    const isl::multi_union_pw_aff around =
        isl::manage(isl_schedule_node_get_prefix_schedule_multi_union_pw_aff(node.get()));
    isl::union_map left = needs_.intersect_domain(domain).intersect_range(domain);
    if (isl_multi_union_pw_aff_dim(around.get(), isl_dim_set) > 0) {
      left = left.eq_at(around);
    }
    const auto loops = static_cast<size_t>(isl_schedule_node_band_n_member(node.get()));
    const auto in_step = [&](size_t loop) {
      return left.eq_at(isl::manage(isl_multi_union_pw_aff_from_union_pw_aff(
          isl_multi_union_pw_aff_get_at(times.get(), static_cast<int>(loop)))));
    };
    Parallelism found{std::vector<bool>(loops, false), 0};
    for (; found.around < loops; ++found.around) {
      bool any = false;
      for (size_t m = found.around; m < loops; ++m) {
        found.coincident[m] = checked(left.is_subset(in_step(m)), doing_parallel_order);
        any = any || found.coincident[m];
      }
      if (any) {
        return found;
      }
      left = in_step(found.around);
    }
    return {std::vector<bool>(loops, false), 0};
  }

  const FlowGraph &graph_;
  ParallelOrder &order_;
  const isl::union_map &needs_;
  int bands_ = 0;
};

std::set<std::string> names_of(const Program &program) {
  std::set<std::string> names;
  for (const Statement &statement : program.statements) {
    names.insert(statement.computation->name);
  }
  return names;
}

} // namespace

std::optional<ParallelOrder> parallel_order(const Program &program, std::uint64_t operations) {
  try {
    const OperationLimit limit(operations);
    const FlowGraph graph = flow_graph(program, names_of(program));
    Constraints constraints = constraints_of(program, graph);
    forget_bounds_of_parameters(constraints);
    isl::schedule schedule = scheduled(constraints);
    if (schedule.is_null() && isl_ctx_last_error(isl_context().get()) == isl_error_unknown) {
      isl_ctx_reset_error(isl_context().get());
      return std::nullopt; // there is no order by loops, as where any earlier element may be read
    }
    schedule = checked(schedule, doing_parallel_order);
    ParallelOrder order;
    for (const FlowGraph::Node &node : graph.nodes) {
      order[node.name] = {};
    }
    TreeReader(graph, constraints.coincidence, order)
        .read(checked(isl::manage(isl_schedule_get_root(schedule.get())), doing_parallel_order));
    return order;
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return std::nullopt;
  }
}

} // namespace tilewright
