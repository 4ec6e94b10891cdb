#include "mapping/compare_loops.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/id.h>
#include <isl/map.h>
#include <isl/val.h>

#include <optional>
#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing_compare_loops = "the order of instances";

/// Loops with so few pairs of cases are compared at once, by isl's own functions.
constexpr isl_size few_pairs = 8;

bool is_empty(const isl::map &map) { return checked(map.is_empty(), doing_compare_loops); }

bool has_few_cases(const isl::pw_aff &first, const isl::pw_aff &second) {
  return isl_pw_aff_n_piece(first.get()) * isl_pw_aff_n_piece(second.get()) <= few_pairs;
}

/// The expression of a loop that has one for all instances, in whole numbers of iterators and
/// parameters; nothing for others.
std::optional<isl::aff> plain_value(const isl::pw_aff &loop) {
  if (isl_pw_aff_n_piece(loop.get()) != 1) {
    return std::nullopt;
  }
  std::optional<isl::aff> value;
  const isl::stat done = loop.foreach_piece([&](const isl::set & /*where*/, const isl::aff &only) {
    value = only;
    return isl::stat::ok();
  });
  if (done.is_error()) {
    throw_isl_error(doing_compare_loops);
  }
  const bool is_plain =
      isl_aff_dim(value->get(), isl_dim_div) == 0 &&
      isl_val_is_one(isl::manage(isl_aff_get_denominator_val(value->get())).get()) == isl_bool_true;
  return is_plain ? value : std::nullopt;
}

/// Adds the coefficients of `value`, times `factor`, to those of a constraint on pairs: of its own
/// iterators at `place`, of parameters and the constant. False if the pairs lack a parameter.
bool add_value(isl::constraint &to, const isl::space &pairs, const isl::aff &value,
               isl_dim_type place, int factor) {
  const auto scaled = [&](isl_val *given) {
    return isl::manage(given).mul(isl::val(to.ctx(), factor));
  };
  const auto add = [&](isl_dim_type type, int position, const isl::val &more) {
    const isl::val now =
        isl::manage(isl_constraint_get_coefficient_val(to.get(), type, position)).add(more);
    to = isl::manage(isl_constraint_set_coefficient_val(to.release(), type, position, now.copy()));
  };
  const isl_size own = isl_aff_dim(value.get(), isl_dim_in);
  for (int d = 0; d < own; ++d) {
    add(place, d, scaled(isl_aff_get_coefficient_val(value.get(), isl_dim_in, d)));
  }
  const isl::space own_space = value.domain_space();
  const isl_size parameters = isl_aff_dim(value.get(), isl_dim_param);
  for (int d = 0; d < parameters; ++d) {
    const isl::val coefficient = scaled(isl_aff_get_coefficient_val(value.get(), isl_dim_param, d));
    if (coefficient.is_zero().is_true()) {
      continue;
    }
    const isl::id name =
        isl::manage(isl_space_get_dim_id(own_space.get(), isl_dim_param, static_cast<unsigned>(d)));
    const int there = isl_space_find_dim_by_id(pairs.get(), isl_dim_param, name.get());
    if (there < 0) {
      return false;
    }
    add(isl_dim_param, there, coefficient);
  }
  const isl::val constant = isl::manage(isl_constraint_get_constant_val(to.get()))
                                .add(scaled(isl_aff_get_constant_val(value.get())));
  to = isl::manage(isl_constraint_set_constant_val(to.release(), constant.copy()));
  return true;
}

/// All pairs of a space for which the first loop is larger (`sign` 1), smaller (-1) or equal (0).
/// Where both are plain this is one constraint, where isl's own functions intersect domains.
isl::map compared(const isl::space &pairs, const isl::pw_aff &first, const isl::pw_aff &second,
                  int sign) {
  const std::optional<isl::aff> one = plain_value(first);
  const std::optional<isl::aff> other = one ? plain_value(second) : std::nullopt;
  if (other) {
    isl_local_space *space = isl_local_space_from_space(pairs.copy());
    isl::constraint difference = isl::manage(sign == 0 ? isl_constraint_alloc_equality(space)
                                                       : isl_constraint_alloc_inequality(space));
    const int factor = sign == 0 ? 1 : sign;
    if (add_value(difference, pairs, *one, isl_dim_in, factor) &&
        add_value(difference, pairs, *other, isl_dim_out, -factor)) {
      if (sign != 0) {
        const isl::val constant = isl::manage(isl_constraint_get_constant_val(difference.get()))
                                      .sub(isl::val::one(pairs.ctx()));
        difference =
            isl::manage(isl_constraint_set_constant_val(difference.release(), constant.copy()));
      }
      return isl::manage(
          isl_map_from_basic_map(isl_basic_map_from_constraint(difference.release())));
    }
  }
  return isl::manage(sign > 0   ? isl_pw_aff_gt_map(first.copy(), second.copy())
                     : sign < 0 ? isl_pw_aff_lt_map(first.copy(), second.copy())
                                : isl_pw_aff_eq_map(first.copy(), second.copy()));
}

struct Case {
  isl::set where;
  isl::pw_aff value;
};

std::vector<Case> cases_of(const isl::pw_aff &loop) {
  std::vector<Case> cases;
  const isl::stat done = loop.foreach_piece([&](const isl::set &where, const isl::aff &value) {
    cases.push_back({where, isl::pw_aff(value)});
    return isl::stat::ok();
  });
  if (done.is_error()) {
    throw_isl_error(doing_compare_loops);
  }
  return cases;
}

/// Case by case: of the first loop, then of the second one where pairs are left.
ComparedLoops by_cases(const isl::map &pairs, const isl::pw_aff &first, const isl::pw_aff &second) {
  const isl::map none = isl::map::empty(pairs.space());
  ComparedLoops found{none, none, none};
  const std::vector<Case> others = cases_of(second);
  for (const Case &one : cases_of(first)) {
    const isl::map from = pairs.intersect_domain(one.where);
    if (is_empty(from)) {
      continue;
    }
    for (const Case &other : others) {
      const isl::map both = from.intersect_range(other.where);
      if (is_empty(both)) {
        continue;
      }
      const isl::map larger = both.intersect(compared(both.space(), one.value, other.value, 1));
      const isl::map smaller = both.intersect(compared(both.space(), one.value, other.value, -1));
      const bool differs = !is_empty(larger) || !is_empty(smaller);
      found.larger = found.larger.unite(larger);
      found.smaller = found.smaller.unite(smaller);
      found.equal = found.equal.unite(
          differs ? both.intersect(compared(both.space(), one.value, other.value, 0)) : both);
    }
  }
  if (is_empty(found.larger) && is_empty(found.smaller)) {
    found.equal = pairs; // in as few parts as it was
  }
  return {checked(found.larger, doing_compare_loops), checked(found.smaller, doing_compare_loops),
          checked(found.equal, doing_compare_loops)};
}

} // namespace

ComparedLoops compare_loops(const isl::map &pairs, const isl::pw_aff &first,
                            const isl::pw_aff &second, bool with_smaller) {
  if (!has_few_cases(first, second)) {
    return by_cases(pairs, first, second);
  }
  return {checked(pairs.intersect(compared(pairs.space(), first, second, 1)), doing_compare_loops),
          with_smaller ? checked(pairs.intersect(compared(pairs.space(), first, second, -1)),
                                 doing_compare_loops)
                       : isl::map(),
          checked(pairs.intersect(compared(pairs.space(), first, second, 0)), doing_compare_loops)};
}

isl::map with_equal_loops(const isl::map &pairs, const isl::pw_aff &first,
                          const isl::pw_aff &second) {
  return has_few_cases(first, second)
             ? checked(pairs.intersect(compared(pairs.space(), first, second, 0)),
                       doing_compare_loops)
             : by_cases(pairs, first, second).equal;
}

bool have_equal_loops(const isl::map &pairs, const isl::pw_aff &first, const isl::pw_aff &second) {
  if (has_few_cases(first, second)) {
    return checked(pairs.is_subset(compared(pairs.space(), first, second, 0)), doing_compare_loops);
  }
  const ComparedLoops found = by_cases(pairs, first, second);
  return is_empty(found.larger) && is_empty(found.smaller);
}

} // namespace tilewright
