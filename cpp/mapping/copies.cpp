#include "mapping/copies.h"

#include "algorithm/block.h"
#include "mapping/command_arguments.h"
#include "mapping/command_table.h"
#include "mapping/written_times.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_copies = "copies of an instance";

/// [t0, ..., i0, ...] -> [the other times]: with so many of the outermost times in front.
isl::map times_behind(const isl::map &times, unsigned loops) {
  const auto rank = static_cast<unsigned>(isl_map_dim(times.get(), isl_dim_in));
  const auto count = static_cast<unsigned>(isl_map_dim(times.get(), isl_dim_out));
  isl_map *moved = isl_map_reverse(isl_map_reset_tuple_id(times.copy(), isl_dim_in));
  moved = isl_map_move_dims(moved, isl_dim_in, loops, isl_dim_out, 0, rank);
  moved = isl_map_move_dims(moved, isl_dim_out, 0, isl_dim_in, loops + rank, count - loops);
  return checked(isl::manage(moved), doing_copies);
}

} // namespace

size_t TimeSpaceMap::copying_loops(size_t iterators) const {
  return copies ? static_cast<size_t>(checked(copies->tuple_dim(), "copies of an instance")) -
                      iterators
                : 0;
}

isl::set scheduled_instances(const MappingState &state, const std::string &computation) {
  const TimeSpaceMap &map = state.time_space.at(computation);
  const isl::set &context = state.function->context;
  return map.copies
             ? map.copies->intersect_params(context)
             : instance_space(**state.function->find(computation)).domain.intersect_params(context);
}

isl::set instances_in_loop(const MappingState &state, const std::string &computation,
                           const isl::pw_aff &value) {
  const isl::set terms = scheduled_instances(state, computation);
  const Computation &found = **state.function->find(computation);
  const InstanceSpace space = instance_space(found);
  const auto rank = static_cast<unsigned>(found.rank());
  const auto reduced = static_cast<unsigned>(space.reduced);
  if (reduced == 0 || state.time_space.at(computation).copies ||
      checked(isl::manage(isl_pw_aff_involves_dims(value.get(), isl_dim_in, rank, reduced)),
              "the instances of a loop")) {
    return terms;
  }
  isl_set *elements = isl_set_add_dims(found.domain.copy(), isl_dim_set, reduced);
  elements = isl_set_set_tuple_id(elements, terms.tuple_id().release());
  return checked(isl::manage(elements).intersect_params(state.function->context),
                 "the instances of a loop");
}

CopiedTimes copied_times(const isl::map &times, const isl::set &instances) {
  unsigned loops = 0;
  isl::map behind = times_behind(times, loops);
  while (!checked(behind.is_single_valued(), doing_copies)) {
    behind = times_behind(times, ++loops);
  }
  const auto named = [&](isl::set copies) {
    return checked(
        isl::manage(isl_set_set_tuple_id(copies.release(), instances.tuple_id().release())),
        doing_copies);
  };
  CopiedTimes result;
  result.copies = named(behind.domain().coalesce());
  const isl::local_space space(result.copies.space());
  for (unsigned d = 0; d < loops; ++d) {
    result.values.push_back(isl::pw_aff::var_on_domain(space, isl::dim::set, d));
  }
  if (isl_map_dim(behind.get(), isl_dim_out) > 0) {
    behind = isl::manage(
        isl_map_set_tuple_id(behind.release(), isl_dim_in, instances.tuple_id().release()));
    const isl::pw_multi_aff functions = checked(behind.as_pw_multi_aff(), doing_copies);
    for (int d = 0; d < isl_map_dim(behind.get(), isl_dim_out); ++d) {
      result.values.push_back(everywhere(functions.at(d)));
    }
  }
  return result;
}

void require_copies(const MappingState &state, const Command &command,
                    const std::string &computation, const isl::map &times,
                    const std::map<size_t, LoopTag> &tags) {
  const std::string start = "the map gives several times to one instance of " + computation + ", ";
  const Computation &found = **state.function->find(computation);
  if (is_block_call(found)) {
    refuse(command, start +
                        "and a function that is called once more would change once more what it "
                        "changes in place; give each call one time");
  }
  if (instance_space(found).reduced > 0) {
    refuse(command, start + "whose terms would be added as often; give each term one time, or "
                            "declare the sum in a computation that reads it, and copy that one");
  }
  if (state.function->stop) {
    refuse(command, start + "and how many iterations there are is found by making them; give each "
                            "instance one time");
  }
  if (std::any_of(tags.begin(), tags.end(),
                  [](const auto &entry) { return is_gpu(entry.second.tag); })) {
    refuse(command, start + "which blocks and threads of a GPU do not do; compute_at makes what "
                            "each of them reads anew");
  }
  const isl::set all = checked(times.range(), doing_copies);
  for (unsigned d = 0; d < static_cast<unsigned>(isl_set_dim(all.get(), isl_dim_set)); ++d) {
    if (isl_set_dim_is_bounded(all.get(), isl_dim_set, d) != isl_bool_true) {
      refuse(command,
             start + "and nothing bounds dimension " + std::to_string(d) +
                 " of them; give it a condition, as in \"{ C[i] -> [t, i] : 0 <= t < 2 }\"");
    }
  }
}

void require_one_time(const MappingState &state, const Command &command) {
  const CommandTraits &asked = traits(command);
  if (asked.needs_one_time || (asked.maps_to_gpu && !asked.takes_map)) {
    require_one_time(state, command, command.computation);
  }
}

void require_one_time(const MappingState &state, const Command &command,
                      const std::string &computation) {
  const auto map = state.time_space.find(computation);
  if (map != state.time_space.end() && map->second.copies) {
    refuse(command, "the instances of " + computation +
                        " run at several times each (set_schedule with a one-to-many map), and " +
                        command.name + " takes one time of each; give it before the map, or give " +
                        computation + " a map with one time for each instance first");
  }
}

} // namespace tilewright
