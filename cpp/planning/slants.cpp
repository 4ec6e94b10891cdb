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

/// Two bounds that move along alike.
struct Range {
  const Bound *lower = nullptr;
  std::optional<std::int64_t> length = {}; ///< where that is a number

  bool moves() const { return !lower->along.empty(); }
  /// Is it the shorter one, as far as that is known?
  bool is_better_than(const Range &other) const {
    if (length || other.length) {
      return length && (!other.length || *length < *other.length);
    }
    return moves() && !other.moves();
  }
};

bool is_window(const Bound &lower, size_t iterator) {
  const auto is_small = [](std::int64_t number) { return std::abs(number) < largest_factor; };
  return is_small(lower.constant) &&
         (lower.along.empty() || lower.along.rbegin()->first < iterator) &&
         std::all_of(lower.along.begin(), lower.along.end(),
                     [&](const auto &by) { return is_small(by.second); });
}

std::optional<Slant> slant_of(const Bounds &bounds) {
  std::optional<Range> best;
  for (const Bound &lower : bounds.lower) {
    for (const Bound &upper : bounds.upper) {
      if (lower.along != upper.along || !is_window(lower, bounds.iterator)) {
        continue;
      }
      const bool is_number = !lower.has_parameters && !upper.has_parameters;
      const Range range{&lower,
                        is_number ? std::optional(upper.constant - lower.constant) : std::nullopt};
      if (!best || range.is_better_than(*best)) {
        best = range;
      }
    }
  }
  const std::int64_t begin = best && !best->lower->has_parameters ? best->lower->constant : 0;
  if (!best || (!best->moves() && begin == 0)) {
    return std::nullopt;
  }
  return Slant{bounds.iterator, {best->lower->along.begin(), best->lower->along.end()}, begin};
}

} // namespace

std::vector<Slant> find_slants(const InstanceSpace &instances, size_t first) {
  if (first >= instances.iterators.size()) {
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
  for (size_t d = first; d < instances.iterators.size(); ++d) {
    const auto slant =
        instances.strides[d].step == 1 ? slant_of(bounds_of(domain, d)) : std::optional<Slant>();
    const auto is_along = [&](const Slant &other) {
      return std::any_of(slant->along.begin(), slant->along.end(),
                         [&](const auto &by) { return by.first == other.iterator; });
    };
    if (!slant || std::any_of(slants.begin(), slants.end(), [&](const Slant &other) {
          return !other.along.empty() && is_along(other);
        })) {
      continue;
    }
    std::erase_if(slants, is_along); // what a loop is slanted along keeps its value
    slants.push_back(*slant);
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
