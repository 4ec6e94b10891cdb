// join(i, j): two neighbouring loops become one, the inverse of split. With E the most iterations
// that the inner loop has, the joined one is i * E + j, counted from where j begins: affine as long
// as E is a number, and, for each of them on its own, if i takes few values. Of two loops whose
// extents are parameters isl has no product; they are counted through where loops are made
// (mapping/joined_dimensions.h).
#include "mapping/command_arguments.h"
#include "mapping/command_handlers.h"
#include "mapping/copies.h"
#include "mapping/joined_dimensions.h"
#include "mapping/number_limits.h"
#include "mapping/parametric_split.h"

#include <isl/aff.h>
#include <isl/set.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_join = "the extent of a joined loop";

/// The values of a loop over all instances.
isl::set values_of_loop(const isl::set &instances, const LoopDimension &loop) {
  return checked(instances.apply(loop.value.as_map()), doing_join);
}

struct NumberRange {
  std::int64_t first = 0;
  std::int64_t last = -1;
};

/// The smallest and the largest value, if both are numbers.
std::optional<NumberRange> number_range(const isl::set &values) {
  const isl::set all = checked(values.project_out_all_params(), doing_join);
  if (checked(all.is_empty(), doing_join)) {
    return NumberRange{0, 0};
  }
  const isl::val first = isl::manage(isl_set_dim_min_val(all.copy(), 0));
  const isl::val last = isl::manage(isl_set_dim_max_val(all.copy(), 0));
  if (first.is_null() || last.is_null() || !first.is_int().is_true() || !last.is_int().is_true() ||
      first.abs().gt(isl::val(isl_context(), static_cast<long>(largest_size))).is_true() ||
      last.abs().gt(isl::val(isl_context(), static_cast<long>(largest_size))).is_true()) {
    return std::nullopt;
  }
  return NumberRange{first.num_si(), last.num_si()};
}

/// The two as one, by numbers: outer * extent + (inner - first).
isl::pw_aff by_numbers(const LoopDimension &outer, const LoopDimension &inner,
                       const NumberRange &range) {
  const std::int64_t extent = range.last - range.first + 1;
  return outer.value.scale(isl::val(isl_context(), static_cast<long>(extent)))
      .add(inner.value)
      .add_constant(isl::val(isl_context(), static_cast<long>(-range.first)));
}

/// The smallest or largest value of a loop as a function of parameters, on `space`. Null if the
/// loop has no end.
isl::pw_aff limit_on(const isl::set &values, const isl::set &instances, bool last) {
  isl_pw_aff *limit = last ? isl_set_dim_max(values.copy(), 0) : isl_set_dim_min(values.copy(), 0);
  if (limit == nullptr) {
    isl_ctx_reset_error(isl_context().get());
    return {};
  }
  // Without dimensions: of parameters only.
  limit = isl_pw_aff_insert_dims(limit, isl_dim_in, 0,
                                 static_cast<unsigned>(isl_set_dim(instances.get(), isl_dim_set)));
  limit = isl_pw_aff_set_tuple_id(limit, isl_dim_in, instances.tuple_id().release());
  return checked(isl::manage(limit), doing_join);
}

/// The two as one for each value of the outer one: value * extent + (inner - first), where the
/// extent is an expression in parameters.
isl::pw_aff by_cases(const isl::set &instances, const LoopDimension &outer,
                     const LoopDimension &inner, const NumberRange &outer_range) {
  const isl::set values = values_of_loop(instances, inner);
  const isl::pw_aff first = limit_on(values, instances, false);
  const isl::pw_aff last = limit_on(values, instances, true);
  if (first.is_null() || last.is_null()) {
    return {};
  }
  const isl::pw_aff extent = last.sub(first).add_constant(isl::val(isl_context(), 1L));
  const isl::pw_aff rest = inner.value.sub(first);
  isl::pw_aff result;
  for (std::int64_t value = outer_range.first; value <= outer_range.last; ++value) {
    const isl::val number(isl_context(), static_cast<long>(value));
    const isl::pw_aff constant(isl::set::universe(instances.space()), number);
    const isl::pw_aff part =
        extent.scale(number).add(rest).intersect_domain(outer.value.eq_set(constant));
    result = result.is_null() ? part : result.union_add(part);
  }
  return checked(checked(result.intersect_domain(instances), doing_join).coalesce(), doing_join);
}

/// The tag of both; refuses two different ones.
LoopTag tag_of_both(const LoopDimension &outer, const LoopDimension &inner,
                    const Command &command) {
  for (const LoopDimension *loop : {&outer, &inner}) {
    if (loop->tag.tag != Tag::Sequential && loop->tag.tag != Tag::Parallel) {
      refuse(command, "loop '" + loop->name + "' is " + tag_description(loop->tag.tag) +
                          ", which a loop joined of it would not be; join it first, and tag the "
                          "loop that comes of it");
    }
  }
  if (outer.tag.tag != inner.tag.tag) {
    refuse(command, "loop '" + outer.name + "' is " + tag_description(outer.tag.tag) + " and '" +
                        inner.name + "' is " + tag_description(inner.tag.tag) +
                        "; tag the loop that they become instead");
  }
  LoopTag tag = outer.tag;
  tag.chunk = 0; // of how many iterations, nobody has said
  return tag;
}

/// Both loops, or none of them, are over terms of a reduction: else the reduction begins and ends
/// between them. A loop of one iteration belongs to either side.
void require_same_kind(const MappingState &state, const Command &command,
                       const LoopDimension &outer, const LoopDimension &inner) {
  const InstanceSpace instances = instance_space(**state.function->find(command.computation));
  const TimeSpaceMap &map = state.time_space.at(command.computation);
  const size_t copies = map.copying_loops(instances.iterators.size());
  const auto first = static_cast<unsigned>(copies + instances.iterators.size() - instances.reduced);
  const auto is_over_terms = [&](const LoopDimension &loop) {
    return instances.reduced > 0 &&
           checked(isl::manage(isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, first,
                                                        static_cast<unsigned>(instances.reduced))),
                   doing_join);
  };
  const auto has_one_iteration = [&](const LoopDimension &loop) {
    const auto all = static_cast<unsigned>(isl_pw_aff_dim(loop.value.get(), isl_dim_in));
    return !checked(isl::manage(isl_pw_aff_involves_dims(loop.value.get(), isl_dim_in, 0, all)),
                    doing_join);
  };
  if (is_over_terms(outer) != is_over_terms(inner) && !has_one_iteration(outer) &&
      !has_one_iteration(inner)) {
    refuse(command, "one of the two loops is over the terms of a reduction, which begins and ends "
                    "between them; bring it elsewhere with reorder first");
  }
}

/// Loops that stay two to isl.
void count_through(MappingState &state, const Command &command, const LoopRange &outer,
                   const LoopRange &inner, const std::string &name, const LoopTag &tag) {
  TimeSpaceMap &map = state.time_space.at(command.computation);
  if (map.explicit_time) {
    refuse(command, "the extents of both loops are parameters, and the times of " +
                        command.computation +
                        " were given as a map (set_schedule); fix(...) makes one of them a number");
  }
  const Placement *placement = find_placement(state, command.computation);
  if (placement != nullptr && placement->compute_at) {
    refuse(command, "the extents of both loops are parameters, and " + command.computation +
                        " runs inside the loops of " + placement->other +
                        " (compute_at), where they are others; join before, or fix(...) a size");
  }
  const size_t count = outer.count + inner.count;
  require_independent_bounds(state, command, outer.first, count,
                             "loops that make a triangle or the like are given as one by "
                             "set_schedule, or dealt out by parallelize(\"" +
                                 map.dimensions[outer.first].name + "\", schedule=\"dynamic\")");
  for (size_t d = outer.first; d < outer.first + count; ++d) {
    if (!map.dimensions[d].prefetches.empty()) {
      refuse(command, "'" + map.dimensions[d].prefetches[0].array +
                          "' is prefetched for later iterations of loop '" +
                          map.dimensions[d].name + "'; prefetch after this command");
    }
    map.dimensions[d].name = name;
    map.dimensions[d].tag.counts = d == outer.first ? static_cast<int>(count) - 1 : -1;
  }
  tag_loops(map, {outer.first, count}, tag);
}

void require_uncut(const TimeSpaceMap &map, const LoopRange &loops, const Command &command) {
  if (map.dimensions[loops.first].tag.strip > 0) {
    refuse(command, "loop '" + map.dimensions[loops.first].name +
                        "' is cut into strips; join more loops before that");
  }
}

} // namespace

void join_command(MappingState &state, const Command &command) {
  const CommandArguments arguments(command);
  arguments.expect_between(2, 3, "join(i, j, name=None)");
  TimeSpaceMap &map = state.time_space.at(command.computation);
  const std::string i = arguments.name(0, "the outer loop");
  const std::string j = arguments.name(1, "the inner loop");
  const LoopRange first = find_loops(map, i, command);
  const LoopRange second = find_loops(map, j, command);
  require_uncut(map, first, command);
  require_uncut(map, second, command);
  if (i == j || second.first != first.end()) {
    refuse(command, i == j ? "loop '" + i + "' is given twice"
                           : "the loops must be neighbours, '" + i + "' directly outside of '" + j +
                                 "'; bring them there with reorder first");
  }
  const std::string name = arguments.optional_name(2, "the joined loop").value_or(i + j);
  if (name != i && name != j) {
    require_new_name(map, name, command);
  }
  const LoopDimension outer = map.dimensions[first.first];
  const LoopDimension inner = map.dimensions[second.first];
  const LoopTag tag = tag_of_both(outer, inner, command);
  require_same_kind(state, command, outer, inner);
  // Neither loop is over terms, or both are (above), so these are the instances of the one and the
  // other.
  const isl::set instances = instances_in_loop(state, command.computation, outer.value);
  isl::pw_aff value;
  std::int64_t extent = 0;
  if (first.count == 1 && second.count == 1) {
    const std::optional<NumberRange> numbers = inner.extent > 0
                                                   ? NumberRange{0, inner.extent - 1}
                                                   : number_range(values_of_loop(instances, inner));
    if (numbers) {
      value = by_numbers(outer, inner, *numbers);
      extent = outer.extent * (numbers->last - numbers->first + 1);
    } else if (const auto cases = number_range(values_of_loop(instances, outer));
               cases && cases->last - cases->first < most_blocks_of_parameters) {
      value = by_cases(instances, outer, inner, *cases);
    }
  }
  if (value.is_null()) {
    count_through(state, command, first, second, name, tag);
    return;
  }
  LoopDimension joined{name, checked(value, doing_join), tag, extent, inner.prefetches};
  joined.prefetches.insert(joined.prefetches.end(), outer.prefetches.begin(),
                           outer.prefetches.end());
  map.dimensions[first.first] = joined;
  map.dimensions.erase(map.dimensions.begin() + static_cast<std::ptrdiff_t>(second.first));
}

} // namespace tilewright
