// apply_schedule: a map composed with the loops that a computation has, "{ [i, j] -> [i + j, j] }".
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/written_times.h"
#include "polyhedral/set_text.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/space.h>

#include <algorithm>
#include <optional>

namespace tilewright {

namespace {

constexpr const char *doing_apply_schedule = "apply_schedule";

std::string loop_list(const std::vector<LoopDimension> &loops) {
  std::string list;
  for (const LoopDimension &loop : loops) {
    list += (list.empty() ? "" : ", ") + loop.name;
  }
  return "[" + list + "]";
}

/// The map must start from the loops: a tuple without a name, in which no loop's name stands for
/// another loop.
void require_loops(const Command &command, const isl::map &given,
                   const std::vector<LoopDimension> &loops) {
  if (given.has_domain_tuple_id().is_true()) {
    refuse(command, "the map starts from " + given.domain_tuple_id().name() +
                        "[...], but apply_schedule maps the loops " + loop_list(loops) +
                        ", a tuple without a name; set_schedule takes a map from instances");
  }
  const size_t count = checked(given.domain_tuple_dim(), doing_apply_schedule);
  if (count != loops.size()) {
    refuse(command, "the map starts from " + std::to_string(count) +
                        (count == 1 ? " dimension" : " dimensions") + ", but " +
                        command.computation + " has " + std::to_string(loops.size()) +
                        (loops.size() == 1 ? " loop: " : " loops: ") + loop_list(loops));
  }
  for (size_t d = 0; d < count; ++d) {
    const char *name = isl_map_get_dim_name(given.get(), isl_dim_in, static_cast<unsigned>(d));
    const auto other = std::find_if(loops.begin(), loops.end(), [&](const LoopDimension &loop) {
      return name != nullptr && loop.name == name;
    });
    if (other != loops.end() && loops[d].name != name) {
      refuse(command, "dimension " + std::to_string(d) + " of the map is loop '" + loops[d].name +
                          "' and is called '" + name + "', as another loop; the loops are " +
                          loop_list(loops) + ", outermost first");
    }
  }
}

/// The values of the loops, as a function of the instance.
isl::multi_pw_aff values_of(const InstanceSpace &instances,
                            const std::vector<LoopDimension> &loops) {
  isl_pw_aff_list *values =
      isl_pw_aff_list_alloc(isl_context().get(), static_cast<int>(loops.size()));
  for (const LoopDimension &loop : loops) {
    values = isl_pw_aff_list_add(values, loop.value.copy());
  }
  isl_space *space = isl_space_from_domain(instances.domain.space().release());
  space = isl_space_add_dims(space, isl_dim_out, static_cast<unsigned>(loops.size()));
  return checked(isl::manage(isl_multi_pw_aff_from_pw_aff_list(space, values)),
                 doing_apply_schedule);
}

/// Of each new loop: the loop that it is, if it is one of them as it was.
std::vector<std::optional<size_t>> kept_loops(const isl::map &given,
                                              const std::vector<isl::pw_aff> &functions) {
  std::vector<std::optional<size_t>> kept(functions.size());
  const isl::local_space loops(given.space().domain());
  for (size_t d = 0; d < functions.size(); ++d) {
    for (unsigned old = 0; old < checked(given.domain_tuple_dim(), doing_apply_schedule); ++old) {
      const isl::pw_aff value = isl::pw_aff::var_on_domain(loops, isl::dim::set, old);
      const bool is_new =
          std::find(kept.begin(), kept.end(), std::optional<size_t>(old)) == kept.end();
      if (is_new && checked(functions[d].is_equal(value), doing_apply_schedule)) {
        kept[d] = old;
        break;
      }
    }
  }
  return kept;
}

/// What is said of a loop is said of its iterations: it has to stay.
void require_kept(const Command &command, const std::vector<LoopDimension> &loops,
                  const std::vector<std::optional<size_t>> &kept) {
  for (size_t d = 0; d < loops.size(); ++d) {
    if (std::find(kept.begin(), kept.end(), std::optional(d)) != kept.end()) {
      continue;
    }
    // The loops of a copy into shared memory are spread by default.
    if (loops[d].tag.tag != Tag::Sequential && loops[d].tag.tag != Tag::GpuSpread) {
      refuse(command, "loop '" + loops[d].name + "' is " + tag_description(loops[d].tag.tag) +
                          ", and the map makes other loops of it; apply the map first, and tag the "
                          "loops that come of it");
    }
    if (!loops[d].prefetches.empty()) {
      refuse(command, "'" + loops[d].prefetches[0].array + "' is prefetched for later iterations " +
                          "of loop '" + loops[d].name +
                          "', and the map makes other loops of it; prefetch after this command");
    }
  }
}

/// A map is over loops as isl knows them.
void require_single_loops(const Command &command, const std::vector<LoopDimension> &loops) {
  for (const LoopDimension &loop : loops) {
    if (loop.tag.counts != 0) {
      refuse(command, "loop '" + loop.name +
                          "' counts through loops whose extents are parameters (join), which no "
                          "map can tell from each other; apply the map before join");
    }
  }
}

/// Loops that others share must be there still.
void require_shared(const MappingState &state, const Command &command, size_t count) {
  const Placement *own = find_placement(state, command.computation);
  const size_t outside = own != nullptr && own->compute_at ? static_cast<size_t>(own->shared) : 0;
  for (const Placement &placement : state.placements) {
    const bool shares = placement.other == command.computation ||
                        (placement.computation == command.computation && !placement.compute_at);
    const std::string &other =
        placement.other == command.computation ? placement.computation : placement.other;
    if (shares && static_cast<size_t>(placement.shared) > count + outside) {
      refuse(command, other + " shares the " + std::to_string(placement.shared) +
                          " outermost loops of " + command.computation + ", and the map leaves " +
                          std::to_string(count + outside));
    }
  }
}

/// " (iteration i = 0, j = 3)": where an instance runs now.
std::string iteration_text(const isl::map &loops_of_instances,
                           const std::vector<LoopDimension> &loops, const Point &instance) {
  isl::map here = loops_of_instances;
  for (size_t d = 0; d < instance.coordinates.size(); ++d) {
    here = isl::manage(isl_map_fix_si(here.release(), isl_dim_in, static_cast<unsigned>(d),
                                      static_cast<int>(instance.coordinates[d])));
  }
  for (const auto &[name, value] : instance.parameters) {
    const int position = isl_map_find_dim_by_name(here.get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      here = isl::manage(isl_map_fix_si(here.release(), isl_dim_param,
                                        static_cast<unsigned>(position), static_cast<int>(value)));
    }
  }
  Point iteration;
  if (!sample_point(checked(here, doing_apply_schedule).range(), iteration)) {
    return "";
  }
  std::string text;
  for (size_t d = 0; d < loops.size(); ++d) {
    text += (text.empty() ? "" : ", ") + loops[d].name + " = " +
            std::to_string(iteration.coordinates[d]);
  }
  return text.empty() ? "" : ", iteration " + text;
}

} // namespace

void apply_schedule_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(1, 1, "apply_schedule(\"{ [i,j] -> [...] }\")");
  std::string text = arguments.name(0, "an isl map");
  const std::vector<WrittenTag> tags = take_tags(text, command);
  if (std::string problem; parse_map(text, problem).is_null()) {
    refuse_unknown_tag(text, command);
  }
  const isl::map read = read_command_map(state, command, text, "{ [i, j] -> [j, i] }");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  const std::vector<LoopDimension> loops = map.dimensions;
  require_single_loops(command, loops);
  require_loops(command, read, loops);
  const isl::map given = isl::manage(isl_map_reset_tuple_id(read.copy(), isl_dim_out));

  const InstanceSpace instances = instance_space(**state.function->find(command.computation));
  const isl::multi_pw_aff values = values_of(instances, loops);
  const isl::map now = checked(values.as_map(), doing_apply_schedule);
  const isl::map written = checked(now.apply_range(given), doing_apply_schedule);
  const EarlierTimes before{
      now, [&](const Point &instance) { return iteration_text(now, loops, instance); }};
  const isl::map times =
      times_of_instances(state, command, command.computation, written, instances, &before);

  // As functions of the loops, where the map is one, or of those iterations that there are.
  const isl::map iterations = given.intersect_domain(times.domain().apply(now));
  const std::vector<isl::pw_aff> functions =
      written_values(given, checked(iterations, doing_apply_schedule));
  const std::vector<std::optional<size_t>> kept = kept_loops(given, functions);
  require_kept(command, loops, kept);
  require_shared(state, command, functions.size());
  std::vector<std::string> known(functions.size());
  for (size_t d = 0; d < kept.size(); ++d) {
    known[d] = kept[d] ? loops[*kept[d]].name : "";
  }
  const std::vector<std::string> names = written_names(given, known);
  std::vector<LoopDimension> made;
  for (size_t d = 0; d < functions.size(); ++d) {
    LoopDimension loop = kept[d] ? loops[*kept[d]] : LoopDimension{};
    loop.name = names[d];
    loop.value = kept[d] ? loop.value
                         : checked(isl::manage(isl_pw_aff_pullback_multi_pw_aff(functions[d].copy(),
                                                                                values.copy())),
                                   doing_apply_schedule);
    made.push_back(std::move(loop));
  }
  tag_loops(state, command, command.computation, tags_by_position(tags, command), made);
  map.dimensions = std::move(made);
}

} // namespace tilewright
