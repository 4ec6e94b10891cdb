#include "mapping/number_limits.h"

#include "mapping/command_arguments.h"

#include <isl/constraint.h>
#include <isl/map.h>
#include <isl/val.h>

namespace tilewright {

namespace {

constexpr const char *doing_number_limits = "the numbers of a schedule";

/// A null is as large as can be: callbacks of isl, where this is asked, must not throw.
bool is_small(isl_val *value) {
  const isl::val size = isl::manage(isl_val_abs(value));
  return !size.is_null() && isl_val_cmp_si(size.get(), static_cast<long>(largest_number)) <= 0;
}

isl_stat look_at(isl_constraint *constraint, void *user) {
  bool &small = *static_cast<bool *>(user);
  small = small && is_small(isl_constraint_get_constant_val(constraint));
  for (const isl_dim_type type : {isl_dim_in, isl_dim_out, isl_dim_param, isl_dim_div}) {
    const int count = isl_constraint_dim(constraint, type);
    for (int i = 0; i < count; ++i) {
      small = small && is_small(isl_constraint_get_coefficient_val(constraint, type, i));
    }
  }
  isl_constraint_free(constraint);
  return isl_stat_ok;
}

bool has_small_numbers(const isl::map &map) {
  bool small = true;
  const isl_stat walked = isl_map_foreach_basic_map(
      checked(map, doing_number_limits).get(),
      [](isl_basic_map *part, void *user) {
        const isl_stat status = isl_basic_map_foreach_constraint(part, look_at, user);
        isl_basic_map_free(part);
        return status;
      },
      &small);
  if (walked != isl_stat_ok) {
    throw_isl_error(doing_number_limits);
  }
  return small;
}

[[noreturn]] void refuse_numbers(const Command &command, const std::string &what) {
  refuse(command, what + " would be a formula with a number beyond 2**40 (" +
                      std::to_string(largest_number) +
                      "), counted together with the commands before; give smaller sizes, shifts "
                      "or factors");
}

} // namespace

void require_small_numbers(const MappingState &before, const MappingState &after,
                           const Command &command) {
  for (const auto &[name, map] : after.time_space) {
    const auto known = before.time_space.find(name);
    for (size_t d = 0; d < map.dimensions.size(); ++d) {
      const LoopDimension &loop = map.dimensions[d];
      const bool same = known != before.time_space.end() && d < known->second.dimensions.size() &&
                        known->second.dimensions[d].value.get() == loop.value.get();
      if (!same && !has_small_numbers(loop.value.as_map())) {
        refuse_numbers(command, "loop '" + loop.name + "' of " + name);
      }
    }
  }
  for (const auto &[name, storage] : after.storage) {
    const auto known = before.storage.find(name);
    if (known == before.storage.end() || known->second.relation.get() != storage.relation.get()) {
      require_small_place(storage.relation, name, command);
    }
  }
}

void require_small_place(const isl::map &place, const std::string &computation,
                         const Command &command) {
  if (!has_small_numbers(place)) {
    refuse_numbers(command, "the place of " + computation + " in buffer '" +
                                place.range_tuple_id().name() + "'");
  }
}

} // namespace tilewright
