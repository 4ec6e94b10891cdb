// inline rfactor: commands that rewrite Layer I behind the mapping. The function that was declared
// stays the one that is called and evaluated; the mapping carries the rewritten one.
#include "algorithm/convergence.h"
#include "algorithm/existing.h"
#include "algorithm/reads.h"
#include "algorithm/reductions.h"
#include "algorithm/rewrite.h"
#include "mapping/accesses.h"
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/order_of_partials.h"

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

/// The loops of `map`, functions of one instance space, as functions of another through `back`: new
/// -> old instance.
std::vector<LoopDimension> pulled_back(const std::vector<LoopDimension> &loops,
                                       const isl::multi_aff &back) {
  std::vector<LoopDimension> result = loops;
  for (LoopDimension &loop : result) {
    loop.value = checked(loop.value.pullback(back), "loops of a partial reduction");
  }
  return result;
}

/// from[...] -> to[...], where dimension d of `to` is dimension sources[d] of `from`.
isl::multi_aff projection(const isl::space &from, const isl::space &to,
                          const std::vector<unsigned> &sources) {
  const isl::space source = isl::manage(isl_space_align_params(from.copy(), to.copy()));
  const isl::space target = isl::manage(isl_space_align_params(to.copy(), source.copy()));
  isl_multi_aff *result =
      isl_multi_aff_zero(isl_space_map_from_domain_and_range(source.copy(), target.copy()));
  for (size_t d = 0; d < sources.size(); ++d) {
    isl_aff *value =
        isl_aff_var_on_domain(isl_local_space_from_space(source.copy()), isl_dim_set, sources[d]);
    result = isl_multi_aff_set_aff(result, static_cast<int>(d), value);
  }
  return checked(isl::manage(result), "loops of a partial reduction");
}

bool involves(const LoopDimension &loop, unsigned first, unsigned count) {
  return checked(isl::manage(isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, first, count)),
                 "the iterators of a loop");
}

/// Gives each iterator from the first one on that no loop runs over a loop of its own, innermost.
void add_missing_loops(TimeSpaceMap &map, const InstanceSpace &instances, size_t first = 0) {
  for (unsigned k = static_cast<unsigned>(first); k < instances.iterators.size(); ++k) {
    if (std::any_of(map.dimensions.begin(), map.dimensions.end(),
                    [&](const LoopDimension &loop) { return involves(loop, k, 1); })) {
      continue;
    }
    std::string name = instances.iterators[k];
    while (std::any_of(map.dimensions.begin(), map.dimensions.end(),
                       [&](const LoopDimension &loop) { return loop.name == name; })) {
      name += "_";
    }
    map.dimensions.push_back({name, declared_loop(instances, k), {}, 0});
  }
}

} // namespace

void forget(MappingState &state, const std::string &name) {
  state.time_space.erase(name);
  state.storage.erase(name);
  state.allocations.erase(name);
  std::erase_if(state.placements,
                [&](const Placement &p) { return p.computation == name || p.other == name; });
  std::erase(state.order, name);
}

void add_reduced_loops(MappingState &state, const Computation &computation) {
  const InstanceSpace instances = instance_space(computation);
  TimeSpaceMap &map = state.time_space.at(computation.name);
  for (LoopDimension &loop : map.dimensions) {
    isl_pw_aff *value = isl_pw_aff_add_dims(loop.value.copy(), isl_dim_in,
                                            static_cast<unsigned>(instances.reduced));
    value = isl_pw_aff_set_tuple_id(value, isl_dim_in, instances.domain.tuple_id().release());
    loop.value = checked(isl::manage(value), "the loops of a reduction");
  }
  // Copies of one element have no loops over their own iterators, and need none.
  add_missing_loops(map, instances, instances.iterators.size() - instances.reduced);
}

/// Inlining may leave a reduction as the whole value of a reader, which is then scheduled by its
/// body: its loops stay, and those of the reduced iterators come inside them.
void inline_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(0, 0, "inline()");
  const std::shared_ptr<const Function> before = state.function;
  try {
    state.function = inline_computation(*state.function, command.computation, command.where);
  } catch (const Error &error) {
    refuse(command, error.what());
  }
  forget(state, command.computation);
  const ComputationPtr gone = *before->find(command.computation);
  for (const ComputationPtr &computation : state.function->computations) {
    const ComputationPtr &reader = *before->find(computation->name);
    if (!reads(*reader, *gone)) {
      continue; // it has the loops that it had
    }
    const InstanceSpace earlier = instance_space(*reader);
    const InstanceSpace now = instance_space(*computation);
    if (earlier.reduced == 0 && now.reduced > 0) {
      const TimeSpaceMap &map = state.time_space.at(computation->name);
      if (map.copies) {
        refuse(command, computation->name +
                            " runs at several times (set_schedule with a one-to-many map), and " +
                            command.computation +
                            " would bring a reduction whose terms would be added as often; keep " +
                            command.computation + " in memory, or give " + computation->name +
                            " one time for each instance first");
      }
      add_reduced_loops(state, *computation);
    } else if (now.iterators != earlier.iterators) {
      refuse(command, computation->name + " has loops over the terms of its own reduction, and " +
                          command.computation + " would bring another one before it; keep " +
                          command.computation + " in memory, or compute_at() it");
    }
  }
}

/// What is factored out of a reduction: the values of a loop over its terms.
ReductionFactor factor_of(const Computation &before, const InstanceSpace &instances,
                          const LoopDimension &loop, const std::string &partial_name) {
  ReductionFactor factor;
  factor.partial = partial_name;
  factor.value = loop.value;
  factor.iterator = loop.name;
  for (size_t k = before.rank(); k < instances.iterators.size(); ++k) {
    const isl::pw_aff itself = isl::pw_aff::var_on_domain(
        isl::local_space(instances.domain.space()), isl::dim::set, static_cast<unsigned>(k));
    if (checked(loop.value.is_equal(itself), "rfactor")) {
      factor.is_iterator = true;
      factor.iterator = instances.iterators[k];
    }
  }
  // Reductions inside the terms have iterators of their own.
  std::set<std::string> taken(instances.iterators.begin(), instances.iterators.end());
  visit(before.pieces.front().value, [&](const ExprPtr &node) {
    for (const ReduceRange &range : node->ranges) {
      taken.insert(range.iterator);
    }
  });
  while (!factor.is_iterator && taken.contains(factor.iterator)) {
    factor.iterator += "_";
  }
  return factor;
}

/// The loops of the partial results: those of the reduction before.
TimeSpaceMap loops_of_partial(const TimeSpaceMap &map, const InstanceSpace &before,
                              const InstanceSpace &partial, size_t factored, unsigned outer) {
  std::vector<unsigned> sources;
  for (const std::string &iterator : before.iterators) {
    const auto found = std::find(partial.iterators.begin(), partial.iterators.end(), iterator);
    sources.push_back(static_cast<unsigned>(found - partial.iterators.begin()));
  }
  TimeSpaceMap result;
  result.dimensions = pulled_back(
      map.dimensions, projection(partial.domain.space(), before.domain.space(), sources));
  result.dimensions[factored].value =
      isl::pw_aff::var_on_domain(isl::local_space(partial.domain.space()), isl::dim::set, outer);
  // A nested reduction is one more loop of the partial results.
  add_missing_loops(result, partial);
  return result;
}

/// The loops of what puts the partial results together: those over elements, and the factored one.
TimeSpaceMap loops_of_final(const TimeSpaceMap &map, const InstanceSpace &after, size_t factored,
                            unsigned outer, unsigned reduced) {
  TimeSpaceMap result;
  for (size_t d = 0; d < map.dimensions.size(); ++d) {
    LoopDimension kept = map.dimensions[d];
    if (d == factored) {
      kept.value =
          isl::pw_aff::var_on_domain(isl::local_space(after.domain.space()), isl::dim::set, outer);
    } else if (!involves(kept, outer, reduced)) {
      isl_pw_aff *value = isl_pw_aff_drop_dims(kept.value.copy(), isl_dim_in, outer, reduced);
      value = isl_pw_aff_insert_dims(value, isl_dim_in, outer, 1);
      value = isl_pw_aff_set_tuple_id(value, isl_dim_in, after.domain.tuple_id().release());
      kept.value = checked(isl::manage(value), "rfactor");
    } else {
      continue;
    }
    result.dimensions.push_back(kept);
  }
  add_missing_loops(result, after); // a skewed loop was dropped here
  return result;
}

/// Where iterations go on until data say so, partial results are kept for the present one: nobody
/// knows how many there will be.
Storage storage_of_partial(const Function &function, const Computation &partial) {
  Storage storage = Storage::identity(partial);
  if (is_iterated(function, partial)) {
    storage.index.front() = constant(std::int64_t{0}, Int64);
    storage.extents.front() = constant(std::int64_t{1}, Int64);
    storage.relation = folded(storage.relation, 0, 1);
  }
  return storage;
}

/// Has the loop the same value in all iterations, whatever the ranges are?
bool is_constant(const LoopDimension &loop) {
  if (isl_pw_aff_n_piece(loop.value.get()) != 1) {
    return false;
  }
  isl_aff *value = nullptr;
  isl_pw_aff_foreach_piece(
      loop.value.get(),
      [](isl_set *domain, isl_aff *piece, void *result) {
        isl_set_free(domain);
        *static_cast<isl_aff **>(result) = piece;
        return isl_stat_ok;
      },
      static_cast<void *>(&value));
  const isl::set values = isl::manage(isl_map_range(isl_map_from_aff(value)));
  return isl_set_is_singleton(values.get()) == isl_bool_true;
}

void factor_loop(MappingState &state, const Command &command, size_t factored,
                 const std::string &partial_name) {
  const std::string &name = command.computation;
  const Computation before = **state.function->find(name);
  const InstanceSpace instances = instance_space(before);
  const TimeSpaceMap map = state.time_space.at(name);
  const auto outer = static_cast<unsigned>(before.rank());
  const auto reduced = static_cast<unsigned>(instances.reduced);
  const LoopDimension &loop = map.dimensions[factored];
  if (is_constant(loop)) {
    refuse(command, "loop '" + loop.name +
                        "' has one iteration, so that there is nothing to be shared out among "
                        "partial results; take the loop that it was split from");
  }
  if (!involves(loop, outer, reduced) || involves(loop, 0, outer)) {
    refuse(command,
           "loop '" + loop.name + "' must run over the reduced iterators, and over nothing else");
  }
  const ExprPtr reduction = scheduled_reduction(before);
  if (!is_associative(*reduction_of(*reduction))) {
    refuse(command, name + (reduction->kind == ExprKind::Fold
                                ? " is a fold whose terms are combined in order; if its function "
                                  "is associative, say so: tw.fold(..., associative=True), "
                                  "and commutative=False if the order of its terms matters"
                                : " is an ordered reduction, and partial results would change its "
                                  "order"));
  }
  if (existing_value(before.pieces.front().value).condition) {
    refuse(command, "data decide which elements of " + name +
                        " exist, and partial results would be computed for all");
  }
  const ReductionFactor factor = factor_of(before, instances, loop, partial_name);
  try {
    state.function = factor_reduction(*state.function, name, factor, command.where);
  } catch (const Error &error) {
    refuse(command, error.what());
  }
  if (reduction_of(*reduction)->ordered) {
    require_order_of_partials(state.function->context, before, loop, command);
  }
  const Computation &partial = **state.function->find(factor.partial);
  const Computation &after = **state.function->find(name);
  state.time_space[factor.partial] =
      loops_of_partial(map, instances, instance_space(partial), factored, outer);
  state.time_space[name] = loops_of_final(map, instance_space(after), factored, outer, reduced);
  state.storage[factor.partial] = storage_of_partial(*state.function, partial);
  state.order.insert(std::find(state.order.begin(), state.order.end(), name), factor.partial);
}

void rfactor_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 2, "rfactor(k, name=None)");
  const std::string &name = command.computation;
  if (instance_space(**state.function->find(name)).reduced == 0) {
    refuse(command, name + " is not a reduction scheduled by its body");
  }
  const size_t factored =
      find_loop(state.time_space.at(name), arguments.name(0, "a loop"), command);
  const std::string partial =
      arguments.optional_name(1, "the partial results").value_or(name + "_partial");
  require_new_computation(state, partial, command);
  const std::string loop = state.time_space.at(name).dimensions[factored].name;
  factor_loop(state, command, factored, partial);
  for (LoopDimension &kept : state.time_space.at(name).dimensions) {
    kept.tag = kept.name == loop ? LoopTag{} : kept.tag;
  }
  const bool in_iterations = is_iterated(*state.function, **state.function->find(partial));
  if (in_iterations || find_placement(state, name) != nullptr) {
    state.placements.push_back({partial, name, in_iterations ? 1 : 0, true, false});
  }
}

} // namespace tilewright
