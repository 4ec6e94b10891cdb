#include "polyhedral/compare_values.h"

#include <isl/aff.h>
#include <isl/map.h>
#include <isl/set.h>

#include <optional>

namespace tilewright {

namespace {

std::optional<isl::aff> only_expression(const isl::pw_aff &value) {
  if (isl_pw_aff_n_piece(value.get()) != 1) {
    return std::nullopt;
  }
  std::optional<isl::aff> only;
  const isl::stat done = value.foreach_piece([&](const isl::set & /*where*/, const isl::aff &each) {
    only = each;
    return isl::stat::ok();
  });
  if (done.is_error()) {
    throw_isl_error("values of pairs");
  }
  return only;
}

isl::map compared(const isl::space &pairs, const isl::pw_aff &first, const isl::pw_aff &second,
                  isl_basic_set *(*of_expressions)(isl_aff *, isl_aff *),
                  isl_map *(*of_pieces)(isl_pw_aff *, isl_pw_aff *)) {
  const auto one = only_expression(first);
  const auto other = one ? only_expression(second) : std::nullopt;
  if (!other) {
    return checked(isl::manage(of_pieces(first.copy(), second.copy())), "values of pairs");
  }
  // The parameters of all three, in one order.
  isl::space space = pairs;
  for (const isl::aff &each : {*one, *other}) {
    space =
        isl::manage(isl_space_align_params(space.release(), isl_aff_get_domain_space(each.get())));
  }
  const auto on_pairs = [&](const isl::aff &value, isl_multi_aff *point) {
    return isl_aff_pullback_multi_aff(isl_aff_align_params(value.copy(), space.copy()), point);
  };
  isl_basic_set *found = of_expressions(on_pairs(*one, isl_multi_aff_domain_map(space.copy())),
                                        on_pairs(*other, isl_multi_aff_range_map(space.copy())));
  return checked(isl::manage(isl_map_from_basic_map(isl_basic_set_unwrap(found))),
                 "values of pairs");
}

} // namespace

isl::map larger_values(const isl::space &pairs, const isl::pw_aff &first,
                       const isl::pw_aff &second) {
  return compared(pairs, first, second, isl_aff_gt_basic_set, isl_pw_aff_gt_map);
}

isl::map smaller_values(const isl::space &pairs, const isl::pw_aff &first,
                        const isl::pw_aff &second) {
  return compared(pairs, first, second, isl_aff_lt_basic_set, isl_pw_aff_lt_map);
}

isl::map equal_values(const isl::space &pairs, const isl::pw_aff &first,
                      const isl::pw_aff &second) {
  return compared(pairs, first, second, isl_aff_eq_basic_set, isl_pw_aff_eq_map);
}

} // namespace tilewright
