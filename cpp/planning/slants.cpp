#include "planning/slants.h"

#include "polyhedral/isl.h"

#include <isl/aff.h>
#include <isl/constraint.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>

namespace tilewright {

namespace {

constexpr const char *doing_slants = "ranges of terms";

/// Larger numbers are no windows.
constexpr std::int64_t largest_factor = 1 << 30;

/// A bound of an iterator, without its parameters.
struct Bound {
  std::map<size_t, std::int64_t> along;
  std::int64_t constant = 0;
  bool has_parameters = false;
};

struct Bounds {
  size_t iterator;
  std::vector<Bound> lower;
  std::vector<Bound> upper;
};

std::int64_t number(isl_val *raw) {
  const isl::val value = checked(isl::manage(raw), doing_slants);
  return isl_val_get_num_si(value.get());
}

/// Is a division, as that of W // 2, one of parameters alone?
bool is_of_parameters(isl_constraint *constraint, size_t division) {
  const isl::aff value =
      isl::manage(isl_constraint_get_div(constraint, static_cast<int>(division)));
  const auto involves = [&](isl_dim_type type) {
    const auto count = static_cast<unsigned>(isl_aff_dim(value.get(), type));
    return isl_aff_involves_dims(value.get(), type, 0, count) != isl_bool_false;
  };
  return !value.is_null() && !involves(isl_dim_in) && !involves(isl_dim_div);
}

/// Notes a constraint that bounds the iterator by whole numbers of others.
void note(isl_constraint *constraint, Bounds &bounds) {
  const auto factor_of = [&](isl_dim_type type, size_t position) {
    return number(isl_constraint_get_coefficient_val(constraint, type, static_cast<int>(position)));
  };
  const auto count = [&](isl_dim_type type) {
    return static_cast<size_t>(isl_constraint_dim(constraint, type));
  };
  const std::int64_t own = factor_of(isl_dim_set, bounds.iterator);
  bool has_divisions = false;
  for (size_t d = 0; d < count(isl_dim_div); ++d) {
    if (factor_of(isl_dim_div, d) == 0) {
      continue;
    }
    if (!is_of_parameters(constraint, d)) {
      return;
    }
    has_divisions = true;
  }
  if (own == 0 || isl_constraint_is_equality(constraint) != isl_bool_false) {
    return;
  }
  Bound bound;
  for (size_t d = 0; d < count(isl_dim_set); ++d) {
    if (const std::int64_t factor = d != bounds.iterator ? factor_of(isl_dim_set, d) : 0;
        factor != 0) {
      if (factor % own != 0) {
        return;
      }
      bound.along[d] = -factor / own;
    }
  }
  bound.constant = -number(isl_constraint_get_constant_val(constraint)) / own;
  bound.has_parameters =
      has_divisions ||
      isl_constraint_involves_dims(constraint, isl_dim_param, 0,
                                   static_cast<unsigned>(count(isl_dim_param))) != isl_bool_false;
  (own > 0 ? bounds.lower : bounds.upper).push_back(std::move(bound));
}

/// Of an iterator of a domain of one piece.
Bounds bounds_of(const isl::basic_set &domain, size_t iterator) {
  Bounds bounds{iterator, {}, {}};
  isl_basic_set_foreach_constraint(
      domain.get(),
      [](isl_constraint *raw, void *user) {
        const isl::constraint constraint = isl::manage(raw);
        note(raw, *static_cast<Bounds *>(user));
        return isl_stat_ok;
      },
      &bounds);
  return bounds;
}

std::optional<Slant> slant_of(const Bounds &bounds) {
  for (const Bound &lower : bounds.lower) {
    const bool is_small = std::abs(lower.constant) < largest_factor &&
                          std::all_of(
                              lower.along.begin(), lower.along.end(),
                              [](const auto &by) { return std::abs(by.second) < largest_factor; });
    const bool is_elsewhere = lower.along.empty() ? lower.constant != 0 && !lower.has_parameters
                                                  : lower.along.rbegin()->first < bounds.iterator;
    const bool moves = is_small && is_elsewhere &&
                       std::any_of(bounds.upper.begin(), bounds.upper.end(),
                                   [&](const Bound &upper) { return upper.along == lower.along; });
    if (moves) {
      return Slant{bounds.iterator,
                   {lower.along.begin(), lower.along.end()},
                   lower.has_parameters ? 0 : lower.constant};
    }
  }
  return std::nullopt;
}

} // namespace

std::vector<Slant> find_slants(const InstanceSpace &instances) {
  if (instances.reduced == 0) {
    return {};
  }
  // A range that is cut short at both ends may have been put together from parts.
  const isl::set whole =
      checked(isl::manage(isl_set_coalesce(instances.domain.copy())), doing_slants);
  if (isl_set_n_basic_set(whole.get()) != 1) {
    return {};
  }
  const isl::basic_set_list parts =
      checked(isl::manage(isl_set_get_basic_set_list(whole.get())), doing_slants);
  const isl::basic_set domain =
      checked(isl::manage(isl_basic_set_list_get_basic_set(parts.get(), 0)), doing_slants);
  std::vector<Slant> slants;
  const size_t rank = instances.iterators.size() - instances.reduced;
  for (size_t d = rank; d < instances.iterators.size(); ++d) {
    const auto slant =
        instances.strides[d].step == 1 ? slant_of(bounds_of(domain, d)) : std::optional<Slant>();
    // What a loop is slanted along keeps its value.
    const bool is_plain = slant && std::all_of(slant->along.begin(), slant->along.end(),
                                               [&](const auto &by) { return by.first < rank; });
    if (is_plain) {
      slants.push_back(*slant);
    }
  }
  return slants;
}

isl::multi_aff from_begin(const InstanceSpace &instances, const std::vector<Slant> &slants) {
  isl_multi_aff *shifted =
      isl_multi_aff_identity_on_domain_space(isl_set_get_space(instances.domain.get()));
  for (const Slant &slant : slants) {
    const auto own = static_cast<int>(slant.iterator);
    isl_aff *value = isl_multi_aff_get_aff(shifted, own);
    for (const auto &[iterator, factor] : slant.along) {
      value = isl_aff_add_coefficient_si(value, isl_dim_in, static_cast<int>(iterator),
                                         static_cast<int>(factor));
    }
    value = isl_aff_add_constant_si(value, static_cast<int>(slant.begin));
    shifted = isl_multi_aff_set_aff(shifted, own, value);
  }
  return checked(isl::manage(shifted), doing_slants);
}

} // namespace tilewright
