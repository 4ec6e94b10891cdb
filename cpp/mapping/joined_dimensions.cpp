#include "mapping/joined_dimensions.h"

#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/copies.h"

#include <isl/set.h>

#include <algorithm>
#include <optional>

namespace tilewright {

LoopRange joined_range(const TimeSpaceMap &map, size_t position) {
  size_t first = position;
  while (first > 0 && map.dimensions[first].tag.counts < 0) {
    --first;
  }
  return {first, 1 + static_cast<size_t>(std::max(map.dimensions[first].tag.counts, 0)), false};
}

LoopRange find_loops(const TimeSpaceMap &map, const std::string &name, const Command &command) {
  std::string known;
  for (size_t d = 0; d < map.dimensions.size(); ++d) {
    const LoopDimension &loop = map.dimensions[d];
    if (loop.name == name) {
      LoopRange found = joined_range(map, d);
      found.is_strip = d > found.first;
      return found;
    }
    if (d == 0 || loop.name != map.dimensions[d - 1].name) {
      known += (known.empty() ? "" : ", ") + loop.name;
    }
  }
  refuse(command, "there is no loop named '" + name +
                      "'; the loops are: " + (known.empty() ? "none" : known));
}

size_t find_loop(const TimeSpaceMap &map, const std::string &name, const Command &command) {
  const LoopRange found = find_loops(map, name, command);
  if (found.count > 1) {
    refuse(command,
           "loop '" + name +
               "' counts through loops whose extents are parameters (join), and isl knows "
               "no product of parameters: it can be split by a number, be parallel, "
               "unrolled or a vector loop, and other computations can share it; give other "
               "commands before join, or fix(...) a size before it");
  }
  return found.first;
}

void tag_loops(TimeSpaceMap &map, const LoopRange &loops, const LoopTag &tag) {
  for (size_t d = loops.first; d < loops.end(); ++d) {
    LoopTag &mine = map.dimensions[d].tag;
    const LoopTag before = mine;
    mine = tag;
    mine.joined = tag.tag == Tag::Parallel && (d > loops.first || tag.joined);
    mine.counts = before.counts;
    mine.strip = before.strip;
    mine.strips = before.strips;
  }
}

void cut_into_strips(TimeSpaceMap &map, const LoopRange &loops, std::int64_t size,
                     const std::string &outer, const std::string &inner, const Command &command) {
  if (map.dimensions[loops.first].tag.strip > 0) {
    refuse(command, "loops '" + map.dimensions[loops.first].name + "' and '" +
                        map.dimensions[loops.end() - 1].name +
                        "' come of a loop that counts through others (join), which is cut once "
                        "only; give the size of the strips that you want to the first split");
  }
  for (const std::string &name : {outer, inner}) {
    require_new_name(map, name, command);
  }
  if (outer == inner) {
    refuse(command, "the two loops need two names, got '" + outer + "' twice");
  }
  for (size_t d = loops.first; d < loops.end(); ++d) {
    map.dimensions[d].name = d + 1 < loops.end() ? outer : inner;
    map.dimensions[d].tag.strip = size;
    map.dimensions[d].tag.chunk = (map.dimensions[d].tag.chunk + size - 1) / size;
  }
}

namespace {

/// The first of the loops `values`, functions of `instances`, whose bounds depend on another one
/// from `first` on; nothing if the number of their iterations is a product.
std::optional<size_t> dependent_loop(const isl::set &instances,
                                     const std::vector<isl::pw_aff> &values, size_t first) {
  isl::map times = isl::map::from_domain(instances);
  for (const isl::pw_aff &value : values) {
    times = times.flat_range_product(value.as_map());
  }
  const isl::set points = checked(times.range(), "bounds of loops");
  const auto without = [](const isl::set &set, size_t from, size_t end) {
    return isl::manage(isl_set_project_out(set.copy(), isl_dim_set, static_cast<unsigned>(from),
                                           static_cast<unsigned>(end - from)));
  };
  for (size_t inner = first + 1; inner < values.size(); ++inner) {
    const isl::set here = without(points, inner + 1, values.size());
    const isl::set outside = without(here, inner, inner + 1);
    const auto between = static_cast<unsigned>(inner - first);
    const isl::set everywhere = isl::manage(isl_set_insert_dims(
        without(here, first, inner).release(), isl_dim_set, static_cast<unsigned>(first), between));
    const isl::set product = isl::manage(
        isl_set_intersect(isl_set_add_dims(outside.copy(), isl_dim_set, 1), everywhere.copy()));
    if (!checked(checked(product, "bounds of loops").is_subset(here), "bounds of loops")) {
      return inner;
    }
  }
  return std::nullopt;
}

/// Which of the loops [0, end) of a reduction run over elements alone: what gives these their first
/// value runs over all of them, also over those that no term belongs to.
std::vector<size_t> loops_of_elements(const std::vector<LoopDimension> &loops, size_t end,
                                      const InstanceSpace &instances) {
  const auto reduced = static_cast<unsigned>(instances.reduced);
  const auto rank = static_cast<unsigned>(instances.iterators.size()) - reduced;
  std::vector<size_t> found;
  for (size_t d = 0; d < end; ++d) {
    if (!checked(
            isl::manage(isl_pw_aff_involves_dims(loops[d].value.get(), isl_dim_in, rank, reduced)),
            "bounds of loops")) {
      found.push_back(d);
    }
  }
  return found;
}

} // namespace

void require_independent_bounds(const MappingState &state, const Command &command, size_t first,
                                size_t count, const std::string &instead) {
  const Placement *placement = find_placement(state, command.computation);
  if (count < 2 || (placement != nullptr && placement->compute_at)) {
    return; // inside other loops the bounds are known when the loops are made
  }
  const std::vector<LoopDimension> &loops = state.time_space.at(command.computation).dimensions;
  std::vector<isl::pw_aff> values;
  for (size_t d = 0; d < first + count; ++d) {
    values.push_back(loops[d].value);
  }
  std::optional<size_t> dependent =
      dependent_loop(scheduled_instances(state, command.computation), values, first);
  const Computation &computation = **state.function->find(command.computation);
  const InstanceSpace instances = instance_space(computation);
  if (!dependent && instances.reduced > 0) {
    const std::vector<size_t> own = loops_of_elements(loops, first + count, instances);
    values.clear();
    for (const size_t d : own) {
      isl_pw_aff *value = isl_pw_aff_drop_dims(loops[d].value.copy(), isl_dim_in,
                                               static_cast<unsigned>(computation.rank()),
                                               static_cast<unsigned>(instances.reduced));
      value = isl_pw_aff_set_tuple_id(value, isl_dim_in, computation.domain.tuple_id().release());
      values.push_back(checked(isl::manage(value), "bounds of loops"));
    }
    const auto mine = std::lower_bound(own.begin(), own.end(), first) - own.begin();
    dependent = dependent_loop(computation.domain.intersect_params(state.function->context), values,
                               static_cast<size_t>(mine));
    dependent = dependent ? std::optional(own[*dependent]) : std::nullopt;
  }
  if (dependent) {
    refuse(command, "the bounds of loop '" + loops[*dependent].name + "' depend on those outside " +
                        "of it, so that they cannot run as one; " + instead);
  }
}

void require_independent_joins(const MappingState &state, const Command &command) {
  const auto found = state.time_space.find(command.computation);
  if (found == state.time_space.end()) {
    return;
  }
  const std::vector<LoopDimension> &loops = found->second.dimensions;
  for (size_t d = 0; d < loops.size(); ++d) {
    if (!loops[d].tag.joined) {
      continue;
    }
    const size_t first = d - 1; // of those that run as one, which does not say so itself
    while (d + 1 < loops.size() && loops[d + 1].tag.joined) {
      ++d;
    }
    require_independent_bounds(state, command, first, d + 1 - first,
                               "parallelize one of the loops only, before this command");
  }
}

void require_whole_joins(const MappingState &state, const Command &command) {
  for (const auto &[name, map] : state.time_space) {
    for (size_t d = 0; d < map.dimensions.size(); ++d) {
      if (map.dimensions[d].tag.counts <= 0) {
        continue;
      }
      const LoopRange loops = joined_range(map, d);
      const auto cuts = [&](int levels) {
        const auto inside = static_cast<size_t>(levels);
        return inside > loops.first && inside < loops.end();
      };
      const std::string joined = "loop '" + map.dimensions[d].name + "' of " + name +
                                 " counts through loops whose extents are parameters (join)";
      for (const Placement &placement : state.placements) {
        if (placement.computation == name && placement.compute_at) {
          refuse(command, joined + ", but " + name + " runs inside the loops of " +
                              placement.other + " (compute_at), where its extents are others");
        }
        if ((placement.computation == name || placement.other == name) && cuts(placement.shared)) {
          refuse(command, joined + ", and " + placement.computation +
                              " would share some of these only; share it whole, or none of it");
        }
      }
      for (const auto &[owner, allocation] : state.allocations) {
        if (loops_owner(state, owner) == name && cuts(allocation.levels)) {
          refuse(command, joined + ", and memory would be allocated between these; allocate it "
                                   "outside of them");
        }
      }
      d = loops.end() - 1;
    }
  }
}

} // namespace tilewright
