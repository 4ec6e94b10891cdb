// cache: the one promotion mechanism. What a loop level touches of an array is kept in a buffer of
// its own: a copy of what is read (copy-in), or a local computation of what is written (copy-out).
// Both are ordinary computations placed by compute_at and store_at, so footprints, bounds and
// legality are those of every other computation.
#include "algorithm/element_values.h"
#include "algorithm/reductions.h"
#include "algorithm/rewrite.h"
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"

#include <algorithm>

namespace tilewright {

namespace {

struct CacheArguments {
  std::string array;
  std::string loop;
  std::string name;
  std::string memory;
  std::vector<int> order;
  std::int64_t pad = 0;
  int stages = 1;
  bool values = false; ///< what is computed from the elements is kept in their place
};

constexpr std::int64_t max_stages = 8;

/// `preferred`, or it with a number where that is taken.
std::string new_name(const MappingState &state, const std::string &preferred) {
  std::string name = preferred;
  for (int number = 2; is_taken(state, name); ++number) {
    name = preferred + std::to_string(number);
  }
  return name;
}

/// The dimensions of `array` in the order of the buffer; empty: as they are.
std::vector<int> order_argument(const Command &command, size_t rank, const std::string &array) {
  if (command.arguments.size() < 5) {
    return {};
  }
  const auto *positions = std::get_if<std::vector<std::int64_t>>(&command.arguments[4]);
  const auto *none = std::get_if<std::vector<std::string>>(&command.arguments[4]);
  const std::vector<std::int64_t> given = positions != nullptr ? *positions
                                          : none != nullptr && none->empty()
                                              ? std::vector<std::int64_t>()
                                              : std::vector<std::int64_t>{-1};
  std::vector<int> order;
  std::vector<bool> seen(rank, false);
  for (const std::int64_t position : given) {
    const bool valid = position >= 0 && position < static_cast<std::int64_t>(rank) &&
                       !seen[static_cast<size_t>(position)];
    if (!valid) {
      refuse(command, "the order must be a permutation of the " + std::to_string(rank) +
                          " dimensions of " + array);
    }
    seen[static_cast<size_t>(position)] = true;
    order.push_back(static_cast<int>(position));
  }
  if (!order.empty() && order.size() != rank) {
    refuse(command, "the order must name all " + std::to_string(rank) + " dimensions of " + array);
  }
  return order;
}

CacheArguments read_arguments(const MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 8,
                           "cache(A, j, name=\"\", memory=\"auto\", order=[], pad=0, stages=1, "
                           "keeps=\"\")");
  CacheArguments given;
  given.array = arguments.name(0, "an input or a computation");
  given.loop = arguments.name(1, "a loop");
  given.name = arguments.optional_name(2, "the copy").value_or("");
  given.memory = arguments.optional_name(3, "the memory").value_or("auto");
  const ComputationPtr *found = state.function->find(given.array);
  if (found == nullptr) {
    refuse(command, "there is no input or computation named '" + given.array + "'");
  }
  if (given.name.empty()) {
    given.name =
        new_name(state, given.array + (given.array == command.computation ? "_local" : "_cache"));
  }
  if (!scheduled_states(**found).empty()) {
    refuse(command, given.array + " is a fold of several states, of which cache() copies one; keep "
                                  "them near by compute_at and store_at, or private()");
  }
  require_new_computation(state, given.name, command);
  given.order = order_argument(command, (*found)->rank(), given.array);
  if (arguments.size() > 5) {
    given.pad = arguments.integer(5, "the padding", 0);
  }
  if (arguments.size() > 6) {
    const std::int64_t stages = arguments.integer(6, "the number of stages", 1);
    if (stages > max_stages) {
      refuse(command, "a buffer has at most " + std::to_string(max_stages) + " stages, got " +
                          std::to_string(stages));
    }
    if (stages > 1 && given.memory != "shared") {
      refuse(command, "several stages are for copies into the memory of a GPU's block, "
                      "memory=\"shared\", got memory=\"" +
                          given.memory + "\"");
    }
    if (stages > 1 && given.array == command.computation) {
      refuse(command, "several stages are for arrays that are read; what " + given.array +
                          " computes is there no sooner");
    }
    given.stages = static_cast<int>(stages);
  }
  if (arguments.size() > 7) {
    const std::string keeps = arguments.optional_name(7, "what is kept").value_or("elements");
    if (keeps != "elements" && keeps != "values") {
      refuse(command, "a buffer keeps \"elements\" or \"values\", got \"" + keeps + "\"");
    }
    given.values = keeps == "values";
    if (given.values && given.array == command.computation) {
      refuse(command,
             "values are kept of arrays that are read; " + given.array + " is what is computed");
    }
    if (given.values && given.stages > 1) {
      refuse(command, "several stages are for copies; values are computed in one");
    }
  }
  return given;
}

/// Computes and stores the new computation inside the loop of the command's.
void place_inside(MappingState &state, const Command &command, const CacheArguments &given) {
  Command placed = command;
  placed.computation = given.name;
  placed.arguments = {command.computation, given.loop};
  apply_part(command, placed, [&] { compute_at_command(state, placed); });
  placed.arguments.emplace_back(given.memory);
  placed.arguments.emplace_back(given.pad);
  apply_part(command, placed, [&] { store_at_command(state, placed); });
  Allocation &allocation = state.allocations.at(given.name);
  allocation.order = given.order;
  allocation.stages = given.stages;
  allocation.command = to_string(command);
}

// ---- what is read ----

void cache_reads(MappingState &state, const Command &command, const CacheArguments &given) {
  try {
    const auto copied = given.values ? copy_values : copy_reads;
    state.function =
        copied(*state.function, command.computation, given.array, given.name, command.where);
  } catch (const Error &error) {
    refuse(command, error.what());
  }
  const Computation &copy = **state.function->find(given.name);
  // The copy's loops run in the order of its memory.
  const InstanceSpace instances = instance_space(copy);
  TimeSpaceMap map;
  for (size_t d = 0; d < copy.rank(); ++d) {
    const size_t of = given.order.empty() ? d : static_cast<size_t>(given.order[d]);
    map.dimensions.push_back({copy.iterators[of], declared_loop(instances, of), {}, 0});
    if (given.memory == "shared") {
      map.dimensions.back().tag.tag = Tag::GpuSpread;
    }
  }
  state.time_space[given.name] = std::move(map);
  state.storage[given.name] = Storage::identity(copy);
  state.order.insert(std::find(state.order.begin(), state.order.end(), command.computation),
                     given.name);
  place_inside(state, command, given);
}

// ---- what is written ----

bool involves(const LoopDimension &loop, unsigned first, unsigned count) {
  return checked(isl::manage(isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, first, count)),
                 "the iterators of a loop");
}

/// Refuses computations whose loops below `level` somebody else shares: they leave with the local
/// computation.
void require_own_loops(const MappingState &state, const Command &command, size_t level) {
  const std::string &name = command.computation;
  if (state.time_space.at(name).explicit_time) {
    refuse(command, "the loops of " + name +
                        " were given as a map (set_schedule, or a recurrence's default), so none "
                        "of them can be given to a local computation");
  }
  const Placement *own = find_placement(state, name);
  const size_t outside =
      level + 1 + (own != nullptr && own->compute_at ? static_cast<size_t>(own->shared) : 0);
  for (const Placement &placement : state.placements) {
    const bool inside = static_cast<size_t>(placement.shared) > outside;
    const bool with_own = placement.computation == name && !placement.compute_at;
    if (inside && (with_own || (placement.other == name && !placement.compute_at))) {
      refuse(command, placement.computation + " and " + placement.other +
                          " share a loop inside of '" +
                          state.time_space.at(name).dimensions[level].name +
                          "', which would become one of the local computation; fission it first");
    }
  }
}

/// What ran inside the loops of `name` for its reads runs for those of `local` now.
void follow_reads(MappingState &state, const std::string &name, const std::string &local) {
  for (Placement &placement : state.placements) {
    if (placement.compute_at && placement.other == name && placement.computation != local) {
      placement.other = local;
      const auto allocation = state.allocations.find(placement.computation);
      if (allocation != state.allocations.end()) {
        allocation->second.other = local;
      }
    }
  }
}

/// The loops `map` of a computation as loops of another one with the same instances.
TimeSpaceMap same_loops(const TimeSpaceMap &map, const isl::set &instances) {
  TimeSpaceMap result = map;
  for (LoopDimension &loop : result.dimensions) {
    loop.value = checked(isl::manage(isl_pw_aff_set_tuple_id(loop.value.release(), isl_dim_in,
                                                             instances.tuple_id().release())),
                         "the loops of a local computation");
  }
  return result;
}

/// The loops of `map` that no reduced iterator drives, as loops of the copy-out.
TimeSpaceMap copying_loops(const TimeSpaceMap &map, const Computation &computation,
                           unsigned reduced) {
  const auto rank = static_cast<unsigned>(computation.rank());
  TimeSpaceMap result;
  for (const LoopDimension &loop : map.dimensions) {
    if (reduced == 0 || !involves(loop, rank, reduced)) {
      LoopDimension kept = loop;
      isl_pw_aff *value = isl_pw_aff_drop_dims(kept.value.release(), isl_dim_in, rank, reduced);
      value = isl_pw_aff_set_tuple_id(value, isl_dim_in, computation.domain.tuple_id().release());
      kept.value = checked(isl::manage(value), "the loops of a copy-out");
      result.dimensions.push_back(std::move(kept));
    }
  }
  return result;
}

/// Where the loops inside of `levels` do not tell the instances apart (a skew mixes reduced
/// iterators and others), plain loops over the iterators take their place.
void complete(TimeSpaceMap &map, const Computation &computation, size_t levels) {
  const InstanceSpace instances = instance_space(computation);
  isl::map time = isl::map::from_domain(instances.domain);
  for (const LoopDimension &loop : map.dimensions) {
    time = time.flat_range_product(loop.value.as_map());
  }
  if (checked(time.is_injective(), "the loops of a copy-out")) {
    return;
  }
  map.dimensions.resize(levels);
  for (size_t d = 0; d < instances.iterators.size(); ++d) {
    std::string name = instances.iterators[d];
    while (std::any_of(map.dimensions.begin(), map.dimensions.end(),
                       [&](const LoopDimension &loop) { return loop.name == name; })) {
      name += "_";
    }
    map.dimensions.push_back({name, declared_loop(instances, d), {}, 0});
  }
}

/// Factors a reduction over several of its loops: one after the other through reductions of their
/// own, which then become one.
void factor_loops(MappingState &state, const Command &command, const std::vector<size_t> &factored,
                  const std::string &partial) {
  const std::string &name = command.computation;
  Command step = command;
  std::vector<std::string> between;
  for (size_t f = 0; f + 1 < factored.size(); ++f) {
    between.push_back(new_name(state, partial + "_" + std::to_string(f)));
    factor_loop(state, step, factored[f], between.back());
    step.computation = between.back();
  }
  factor_loop(state, step, factored.back(), partial);
  if (between.empty()) {
    return;
  }
  // The innermost of them has all loops of the sum that is left.
  const TimeSpaceMap loops = state.time_space.at(between.back());
  for (const std::string &gone : between) {
    state.function = merge_reductions(*state.function, name, gone);
    forget(state, gone);
  }
  state.time_space[name] = same_loops(loops, instance_space(**state.function->find(name)).domain);
}

void cache_writes(MappingState &state, const Command &command, CacheArguments given) {
  const std::vector<int> order = given.order;
  const std::string &name = command.computation;
  const size_t level = find_loop(state.time_space.at(name), given.loop, command);
  require_own_loops(state, command, level);
  // Itself, not a copy, which would not be what reads of it read. It outlives the function.
  const ComputationPtr before = *state.function->find(name);
  const auto rank = static_cast<unsigned>(before->rank());
  const auto reduced = static_cast<unsigned>(instance_space(*before).reduced);
  std::vector<size_t> outside; // loops over reduced iterators outside of the local computation
  for (size_t d = 0; d <= level; ++d) {
    if (reduced > 0 && involves(state.time_space.at(name).dimensions[d], rank, reduced)) {
      outside.push_back(d);
    }
  }
  if (!outside.empty()) {
    // Each iteration of those loops computes a partial result of its own, which is added outside.
    factor_loops(state, command, outside, given.name);
    for (size_t d = 0; d < outside.size() && !order.empty(); ++d) {
      given.order.insert(given.order.begin() + static_cast<std::ptrdiff_t>(d),
                         static_cast<int>(rank + d));
    }
  } else {
    state.function = copy_writes(*state.function, name, given.name);
    const Computation &local = **state.function->find(given.name);
    const InstanceSpace instances = instance_space(local);
    const TimeSpaceMap loops = state.time_space.at(name);
    state.time_space[given.name] = same_loops(loops, instances.domain);
    state.time_space[name] = copying_loops(loops, *before, reduced);
    state.storage[given.name] = Storage::identity(local);
    state.order.insert(std::find(state.order.begin(), state.order.end(), name), given.name);
    if (instances.reduced > reduced) {
      add_reduced_loops(state, local); // it read its own values, which are another's now
    }
  }
  std::vector<LoopDimension> &inner = state.time_space.at(given.name).dimensions;
  inner.erase(inner.begin(), inner.begin() + static_cast<std::ptrdiff_t>(level) + 1);
  complete(state.time_space.at(name), **state.function->find(name), level + 1);
  place_inside(state, command, given);
  follow_reads(state, name, given.name);
}

} // namespace

void cache_command(MappingState &state, const Command &command) {
  const CacheArguments given = read_arguments(state, command);
  if (given.array == command.computation) {
    cache_writes(state, command, given);
  } else {
    cache_reads(state, command, given);
  }
}

} // namespace tilewright
