#include "planning/auto/iterator_steps.h"

#include <isl/aff.h>
#include <isl/set.h>
#include <isl/stride_info.h>
#include <isl/val.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_iterator_steps = "the step of an iterator";

} // namespace

std::int64_t step_of(const isl::set &domain, size_t iterator) {
  isl_stride_info *found = isl_set_get_stride_info(domain.get(), static_cast<int>(iterator));
  const auto step = whole_number(isl_stride_info_get_stride(found));
  isl_stride_info_free(found);
  return std::max<std::int64_t>(step.value_or(1), 1);
}

isl::multi_aff next_value(const isl::set &domain, size_t iterator, std::int64_t step) {
  isl_multi_aff *moved = isl_multi_aff_identity_on_domain_space(domain.space().release());
  isl_aff *own = isl_multi_aff_get_aff(moved, static_cast<int>(iterator));
  own = isl_aff_add_constant_si(own, static_cast<int>(step));
  moved = isl_multi_aff_set_aff(moved, static_cast<int>(iterator), own);
  return checked(isl::manage(moved), doing_iterator_steps);
}

bool counts(const isl::pw_aff &value, const isl::set &domain, size_t iterator, std::int64_t step) {
  const isl::multi_aff next = next_value(domain, iterator, step);
  isl_pw_aff *there = isl_pw_aff_pullback_multi_aff(value.copy(), next.copy());
  isl_pw_aff *here =
      isl_pw_aff_add_constant_val(value.copy(), isl_val_one(isl_pw_aff_get_ctx(value.get())));
  isl_set *both =
      isl_set_intersect(domain.copy(), isl_set_preimage_multi_aff(domain.copy(), next.copy()));
  isl_set *other = isl_set_intersect(isl_set_copy(both), isl_pw_aff_ne_set(there, here));
  const bool grows_alike = isl_set_is_empty(other) == isl_bool_true;
  const bool has_pairs = isl_set_is_empty(both) == isl_bool_false;
  isl_set_free(other);
  isl_set_free(both);
  return grows_alike && has_pairs;
}

} // namespace tilewright
