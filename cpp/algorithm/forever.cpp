#include "algorithm/forever.h"

#include <isl/set.h>

namespace tilewright {

namespace {

int position_of_end(const isl::set &domain) {
  return isl_set_find_dim_by_name(domain.get(), isl_dim_param, forever_name);
}

} // namespace

bool lasts_forever(const isl::set &domain) {
  const int end = position_of_end(domain);
  return end >= 0 && isl_set_involves_dims(domain.get(), isl_dim_param, static_cast<unsigned>(end),
                                           1) == isl_bool_true;
}

isl::set at_all_times(const isl::set &domain) {
  const int end = position_of_end(domain);
  if (end < 0) {
    return domain;
  }
  return checked(
      isl::manage(isl_set_project_out(domain.copy(), isl_dim_param, static_cast<unsigned>(end), 1)),
      "the elements of a stream");
}

} // namespace tilewright
