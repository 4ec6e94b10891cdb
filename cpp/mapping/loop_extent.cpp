#include "mapping/loop_extent.h"

#include "mapping/copies.h"
#include "mapping/footprint.h"
#include "mapping/number_limits.h"
#include "mapping/program.h"

#include <algorithm>

namespace tilewright {

std::int64_t constant_extent(const MappingState &state, const Command &command,
                             const LoopDimension &loop) {
  if (loop.extent > 0) {
    return loop.extent;
  }
  const isl::set domain = instances_in_loop(state, command.computation, loop.value);
  const isl::set values =
      checked(domain.apply(loop.value.as_map()).project_out_all_params(), "extent of a loop");
  if (checked(values.is_empty(), "extent of a loop")) {
    return 1;
  }
  const isl::val last = isl::manage(isl_set_dim_max_val(values.copy(), 0));
  const isl::val first = isl::manage(isl_set_dim_min_val(values.copy(), 0));
  if (last.is_null() || first.is_null() || !last.is_int().is_true() || !first.is_int().is_true()) {
    return 0;
  }
  const isl::val extent = checked(last.sub(first).add(1L), "extent of a loop");
  return extent.le(isl::val(isl_context(), static_cast<long>(largest_size))).is_true()
             ? extent.num_si()
             : 0;
}

std::int64_t extent_inside(const MappingState &state, const std::string &computation,
                           size_t position) {
  const Placement *placement = find_placement(state, computation);
  if (placement == nullptr || !placement->compute_at) {
    return 0;
  }
  const std::string &name = state.time_space.at(computation).dimensions[position].name;
  const auto shared = static_cast<size_t>(placement->shared);
  std::int64_t largest = 0;
  const Program program = build_program(state);
  for (const Statement &statement : program.statements) {
    if (statement.computation->name != computation) {
      continue;
    }
    for (size_t level = shared; level < statement.loop_names.size(); ++level) {
      if (statement.loop_names[level] == name) {
        const std::int64_t width = constant_width(statement, shared, level);
        if (width == 0) {
          return 0;
        }
        largest = std::max(largest, width);
      }
    }
  }
  return largest;
}

} // namespace tilewright
