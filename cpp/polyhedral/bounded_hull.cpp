#include "polyhedral/bounded_hull.h"

#include <isl/set.h>

namespace tilewright {

namespace {

constexpr const char *doing_hull = "taking a hull";

} // namespace

isl::set bounded_hull(const isl::set &points) {
  const isl::set hull = isl::manage(isl_set_from_basic_set(isl_set_simple_hull(points.copy())));
  if (isl_set_is_bounded(checked(hull, doing_hull).get()) != isl_bool_false) {
    return hull;
  }
  isl_set *result = hull.copy();
  const auto count = static_cast<unsigned>(isl_set_dim(points.get(), isl_dim_set));
  for (unsigned d = 0; d < count; ++d) {
    isl_set *all = isl_set_project_out(points.copy(), isl_dim_set, d + 1, count - d - 1);
    const isl::set one = isl::manage(isl_set_project_out(all, isl_dim_set, 0, d));
    for (const auto order : {isl_map_order_le, isl_map_order_ge}) {
      isl_map *others = isl_map_universe(isl_space_map_from_set(isl_set_get_space(one.get())));
      others = order(others, isl_dim_in, 0, isl_dim_out, 0);
      isl_set *side = isl_map_range(isl_map_intersect_domain(others, one.copy()));
      side = isl_set_insert_dims(side, isl_dim_set, 0, d);
      result = isl_set_intersect(
          result, isl_set_add_dims(isl_set_coalesce(side), isl_dim_set, count - d - 1));
    }
  }
  return checked(isl::manage(result), doing_hull);
}

} // namespace tilewright
