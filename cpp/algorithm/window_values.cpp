#include "algorithm/window_values.h"

#include "algorithm/free_iterators.h"

#include <isl/map.h>
#include <isl/set.h>

#include <algorithm>
#include <cstdint>
#include <set>

namespace tilewright {

namespace {

/// Of more elements a window fills vectors, or the values of a row of results no cache.
constexpr std::int64_t most_elements = 64;

/// How many values the dimensions from `first` on have together; more than `most_elements` if that
/// is no such number.
std::int64_t elements(const isl::set &values, size_t first, size_t end) {
  std::int64_t count = 1;
  for (size_t d = first; d < end && count <= most_elements; ++d) {
    const auto dimension = static_cast<int>(d);
    const auto low = whole_number(isl_set_dim_min_val(values.copy(), dimension));
    const auto high = whole_number(isl_set_dim_max_val(values.copy(), dimension));
    const bool is_small = low && high && *high - *low < most_elements;
    count *= is_small ? *high - *low + 1 : most_elements + 1;
  }
  return count;
}

} // namespace

bool is_of_windows(const ExprPtr &part, const std::vector<std::string> &iterators,
                   size_t of_results, const isl::set &values) {
  if (of_results == iterators.size() ||
      elements(values, of_results, iterators.size()) > most_elements) {
    return false;
  }
  const std::string &last = iterators[of_results - 1];
  const std::vector<std::string> window(iterators.begin() + static_cast<std::ptrdiff_t>(of_results),
                                        iterators.end());
  bool lies_along = false;     // something is read side by side from result to result
  bool lies_in_window = false; // or only within a window
  FreeIterators free;
  visit(part, [&](const ExprPtr &node) {
    if (node->kind != ExprKind::Access || node->operands.empty()) {
      return;
    }
    const std::set<std::string> &used = free.of(node->operands.back());
    const bool is_along = used.contains(last);
    lies_along = lies_along || is_along;
    lies_in_window = lies_in_window ||
                     (!is_along && std::any_of(window.begin(), window.end(), [&](const auto &name) {
                       return used.contains(name);
                     }));
  });
  return lies_along && !lies_in_window;
}

isl::set with_last(const isl::set &set, unsigned dimension) {
  const auto behind = static_cast<unsigned>(isl_set_dim(set.get(), isl_dim_set)) - 1;
  isl_map *moved = isl_map_from_range(isl_set_reset_tuple_id(set.copy()));
  moved = isl_map_move_dims(moved, isl_dim_in, 0, isl_dim_out, dimension, 1);
  moved = isl_map_move_dims(moved, isl_dim_out, behind, isl_dim_in, 0, 1);
  return checked(isl::manage(isl_map_range(moved)), "the iterators of a value");
}

} // namespace tilewright
