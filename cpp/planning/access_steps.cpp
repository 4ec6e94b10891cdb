#include "planning/access_steps.h"

#include <isl/aff.h>
#include <isl/val.h>

#include <algorithm>
#include <cstdint>

namespace tilewright {

namespace {

/// Longer periods are not looked for.
constexpr std::int64_t longest_period = 8;

/// By how much an affine function grows in `period` iterations: nothing where that differs from one
/// to the next, as floor(x / 2) does from x to x + 1.
std::optional<isl::val> growth(const isl::aff &function, unsigned iterator, std::int64_t period) {
  isl::val sum = isl::manage(isl_val_mul(
      isl_aff_get_coefficient_val(function.get(), isl_dim_in, static_cast<int>(iterator)),
      isl_val_int_from_si(isl_context().get(), period)));
  const isl_size divisions = isl_aff_dim(function.get(), isl_dim_div);
  for (isl_size d = 0; d < divisions; ++d) {
    const isl::val factor =
        isl::manage(isl_aff_get_coefficient_val(function.get(), isl_dim_div, static_cast<int>(d)));
    if (factor.is_null() || isl_val_is_zero(factor.get()) != isl_bool_false) {
      continue;
    }
    const auto inside =
        growth(isl::manage(isl_aff_get_div(function.get(), static_cast<int>(d))), iterator, period);
    if (!inside || isl_val_is_int(inside->get()) != isl_bool_true) {
      return std::nullopt;
    }
    sum = isl::manage(isl_val_add(sum.release(), isl_val_mul(factor.copy(), inside->copy())));
  }
  return sum.is_null() ? std::nullopt : std::optional(sum);
}

/// By how much it moves in `period` iterations, where all pieces of a function say the same or
/// none.
std::optional<std::int64_t> coefficient_of(const isl::pw_aff &value, size_t iterator,
                                           std::int64_t period) {
  struct Found {
    unsigned position;
    std::int64_t period;
    std::optional<std::int64_t> coefficient = 0;
  } found{static_cast<unsigned>(iterator), period};
  const isl_stat status = isl_pw_aff_foreach_piece(
      value.get(),
      [](isl_set *piece, isl_aff *affine, void *user) {
        auto &into = *static_cast<Found *>(user);
        isl_set_free(piece);
        const auto moved = growth(isl::manage(affine), into.position, into.period);
        if (!moved || isl_val_is_int(moved->get()) != isl_bool_true || !into.coefficient) {
          into.coefficient = std::nullopt;
          return isl_stat_ok;
        }
        const std::int64_t here = isl_val_get_num_si(moved->get());
        // A clamped subscript stands still at the border.
        if (here != 0 && *into.coefficient != 0 && here != *into.coefficient) {
          into.coefficient = std::nullopt;
        } else if (here != 0) {
          into.coefficient = here;
        }
        return isl_stat_ok;
      },
      &found);
  if (status != isl_stat_ok) {
    throw_isl_error("the step of a subscript");
  }
  return found.coefficient;
}

} // namespace

std::optional<std::int64_t> Access::moved(size_t dimension, size_t iterator,
                                          std::int64_t count) const {
  const auto &subscript = subscripts[dimension];
  if (subscript) {
    return coefficient_of(*subscript, iterator, count);
  }
  const bool is_constant = dimension < chosen_by.size() && !chosen_by[dimension].contains(iterator);
  return is_constant ? std::optional<std::int64_t>(0) : std::nullopt;
}

std::optional<std::int64_t> Access::coefficient(size_t dimension, size_t iterator) const {
  return moved(dimension, iterator, iterator < periods.size() ? periods[iterator] : 1);
}

std::optional<std::int64_t> Access::period(size_t iterator) const {
  for (std::int64_t count = 1; count <= longest_period; ++count) {
    size_t known = 0;
    while (known < subscripts.size() && moved(known, iterator, count)) {
      ++known;
    }
    if (known == subscripts.size()) {
      return count;
    }
  }
  return std::nullopt;
}

Step Access::step(size_t iterator) const {
  Step result = Step::None;
  bool side_by_side = true; // neighbours along the dimension
  for (size_t d = subscripts.size(); d-- > 0;) {
    const auto moved = coefficient(d, iterator);
    if (!moved || (*moved != 0 && (!side_by_side || *moved != 1))) {
      return Step::Other;
    }
    result = *moved != 0 ? Step::Unit : result;
    side_by_side = side_by_side && d < extents.size() && extents[d] == 1;
  }
  return result;
}

std::optional<std::int64_t> Access::distance(size_t iterator) const {
  std::int64_t result = 0;
  std::optional<std::int64_t> elements = 1; // of one step along the dimension
  for (size_t d = subscripts.size(); d-- > 0;) {
    const auto moved = coefficient(d, iterator);
    if (!moved || (*moved != 0 && !elements)) {
      return std::nullopt;
    }
    result += *moved != 0 ? *moved * *elements : 0;
    elements = elements && extents[d] ? std::optional(*elements * *extents[d]) : std::nullopt;
  }
  return result;
}

std::optional<size_t> Access::strided_dimension(size_t iterator) const {
  std::optional<size_t> found;
  for (size_t d = 0; d < subscripts.size(); ++d) {
    const auto moved = coefficient(d, iterator);
    if (!moved || (*moved != 0 && (found || *moved != 1))) {
      return std::nullopt;
    }
    found = *moved != 0 ? std::optional(d) : found;
  }
  return found && *found + 1 < subscripts.size() ? found : std::nullopt;
}

bool Access::has_border() const {
  return std::any_of(subscripts.begin(), subscripts.end(), [](const auto &subscript) {
    return subscript && isl_pw_aff_n_piece(subscript->get()) > 1;
  });
}

bool Access::is_affine() const {
  return std::all_of(subscripts.begin(), subscripts.end(),
                     [](const auto &subscript) { return subscript.has_value(); });
}

} // namespace tilewright
