#include "mapping/windows.h"

#include <isl/map.h>
#include <isl/set.h>
#include <isl/val.h>

namespace tilewright {

namespace {

constexpr const char *doing_windows = "a sliding window";
constexpr std::uint64_t window_operation_limit = 500'000;
constexpr std::int64_t largest_window = 4096;

/// [d0, ..., d(n-1)] -> [e...] as [e..., d0, ..., d(kept-1)] -> [d(kept), ..., d(n-1)].
isl::map iterations_of(const isl::map &needed, size_t kept) {
  isl_map *reading = isl_map_reverse(needed.copy());
  const auto rank = static_cast<unsigned>(isl_map_dim(reading, isl_dim_in));
  reading =
      isl_map_move_dims(reading, isl_dim_in, rank, isl_dim_out, 0, static_cast<unsigned>(kept));
  return checked(isl::manage(reading), doing_windows);
}

isl::set at_least(const isl::set &numbers, std::int64_t least) {
  return isl::manage(
      isl_set_lower_bound_si(numbers.copy(), isl_dim_set, 0, static_cast<int>(least)));
}

bool has_multiple(const isl::set &numbers, std::int64_t of) {
  isl_local_space *space = isl_local_space_from_space(isl_set_get_space(numbers.get()));
  isl_aff *rest = isl_aff_var_on_domain(space, isl_dim_set, 0);
  rest = isl_aff_mod_val(rest, isl_val_int_from_si(isl_context().get(), static_cast<long>(of)));
  const isl::set multiples = isl::manage(isl_set_from_basic_set(isl_aff_zero_basic_set(rest)));
  return !checked(numbers.intersect(multiples).is_empty(), doing_windows);
}

/// The smallest number of which none of the distances, all positive, is a multiple; 0: none is
/// small.
std::int64_t modulus_of(const isl::set &distances) {
  if (checked(distances.is_empty(), doing_windows)) {
    return 1;
  }
  const isl::val most = isl::manage(isl_set_dim_max_val(distances.copy(), 0));
  if (most.is_null() || !most.is_int().is_true() || most.num_si() >= largest_window) {
    return 0;
  }
  for (std::int64_t m = 2; m <= most.num_si(); ++m) {
    if (!has_multiple(distances, m)) {
      return m;
    }
  }
  return most.num_si() + 1;
}

} // namespace

std::optional<isl::map> first_read(const isl::map &needed, size_t anew) {
  try {
    const OperationLimit limit(window_operation_limit);
    const auto rank = static_cast<unsigned>(checked(needed.range_tuple_dim(), doing_windows));
    isl_map *first = isl_map_lexmin(iterations_of(needed, anew).release());
    first = isl_map_move_dims(first, isl_dim_out, 0, isl_dim_in, rank, static_cast<unsigned>(anew));
    first = isl_map_reverse(first);
    first = isl_map_set_tuple_id(first, isl_dim_out, needed.range_tuple_id().release());
    return checked(isl::manage(first).coalesce(), doing_windows);
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return std::nullopt;
  }
}

std::vector<std::int64_t> folds_of_window(const isl::map &needed, size_t kept,
                                          const isl::set &context) {
  std::vector<std::int64_t> folds;
  try {
    const OperationLimit limit(window_operation_limit);
    const auto rank = static_cast<unsigned>(checked(needed.range_tuple_dim(), doing_windows));
    const isl::map reading =
        iterations_of(checked(needed.intersect_params(context), doing_windows), kept);
    const isl::map first = checked(reading.lexmin(), doing_windows);
    const isl::map last = checked(reading.lexmax(), doing_windows);
    isl_map *together = isl_map_intersect(isl_map_lex_le_map(first.copy(), last.copy()),
                                          isl_map_lex_ge_map(last.copy(), first.copy()));
    for (unsigned d = 0; d < kept; ++d) {
      const auto at = static_cast<int>(rank + d);
      together = isl_map_equate(together, isl_dim_in, at, isl_dim_out, at);
    }
    const isl::map alive = checked(isl::manage(together), doing_windows);
    for (unsigned k = 0; k < rank; ++k) {
      isl_map *line = alive.copy();
      for (unsigned d = 0; d < rank; ++d) {
        if (d != k) {
          const auto at = static_cast<int>(d);
          line = isl_map_equate(line, isl_dim_in, at, isl_dim_out, at);
        }
      }
      isl_set *apart = isl_map_deltas(line);
      apart = isl_set_project_out(apart, isl_dim_set, k + 1,
                                  rank - k - 1 + static_cast<unsigned>(kept));
      apart = isl_set_project_out(apart, isl_dim_set, 0, k);
      const isl::set distances = at_least(checked(isl::manage(apart), doing_windows), 1);
      folds.push_back(modulus_of(checked(distances, doing_windows)));
    }
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    folds.clear();
  }
  folds.resize(checked(needed.range_tuple_dim(), doing_windows), 0);
  return folds;
}

} // namespace tilewright
