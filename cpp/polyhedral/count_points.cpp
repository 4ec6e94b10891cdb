#include "polyhedral/count_points.h"

#include "polyhedral/integer_value.h"

#include <isl/aff.h>
#include <isl/local_space.h>
#include <isl/mat.h>
#include <isl/set.h>
#include <isl/val.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

constexpr const char *doing_count_points = "counting points";
constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 4;

/// sum of coefficients[v] * variable v + constant, >= 0.
struct Row {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
};

struct Bounds {
  std::int64_t lower = -far;
  std::int64_t upper = far;
  bool is_finite() const { return lower > -far && upper < far; }
};

/// Variables of which some have a value, and inequalities between them.
struct System {
  std::vector<Bounds> bounds;
  std::vector<Row> rows;
};

std::int64_t floor_of(__int128 a, __int128 b) {
  const __int128 quotient = a / b;
  const __int128 result = quotient - (a % b != 0 && (a % b < 0) != (b < 0) ? 1 : 0);
  return static_cast<std::int64_t>(std::clamp<__int128>(result, -far, far));
}

class Counter {
public:
  explicit Counter(std::int64_t steps) : steps_(steps) {}

  /// Nothing where it cannot be told.
  std::optional<std::int64_t> count(System system) {
    if (--steps_ < 0) {
      return std::nullopt;
    }
    if (!tighten(system)) {
      return 0;
    }
    std::int64_t product = 1;
    for (const std::vector<size_t> &part : parts_of(system)) {
      const auto of_part =
          part.size() == 1 ? extent(system.bounds[part[0]]) : enumerate(system, part);
      if (!of_part || __builtin_mul_overflow(product, *of_part, &product)) {
        return std::nullopt;
      }
      if (product == 0) {
        return 0;
      }
    }
    return product;
  }

private:
  static std::optional<std::int64_t> extent(const Bounds &bounds) {
    if (!bounds.is_finite()) {
      return std::nullopt;
    }
    return std::max<std::int64_t>(bounds.upper - bounds.lower + 1, 0);
  }

  /// Narrows the bounds of each variable by those of the others, and drops rows that hold anyway.
  /// False where there is no point.
  static bool tighten(System &system) {
    bool changed = true;
    for (int round = 0; changed && round < 64; ++round) {
      changed = false;
      for (const Row &row : system.rows) {
        // The largest value of the sum without each variable bounds that variable.
        __int128 most = row.constant;
        int unbounded = 0;
        for (size_t v = 0; v < row.coefficients.size(); ++v) {
          const std::int64_t c = row.coefficients[v];
          const Bounds &b = system.bounds[v];
          if (c != 0) {
            const std::int64_t end = c > 0 ? b.upper : b.lower;
            (end >= far || end <= -far) ? static_cast<void>(++unbounded)
                                        : static_cast<void>(most += static_cast<__int128>(c) * end);
          }
        }
        if (unbounded == 0 && most < 0) {
          return false;
        }
        for (size_t v = 0; v < row.coefficients.size() && unbounded < 2; ++v) {
          const std::int64_t c = row.coefficients[v];
          Bounds &b = system.bounds[v];
          const std::int64_t end = c > 0 ? b.upper : b.lower;
          const bool is_far = end >= far || end <= -far;
          if (c == 0 || (unbounded == 1 && !is_far)) {
            continue;
          }
          const __int128 rest = is_far ? most : most - static_cast<__int128>(c) * end;
          // c * v + rest >= 0
          if (c > 0) {
            const std::int64_t lower = -floor_of(rest, c);
            changed = changed || lower > b.lower;
            b.lower = std::max(b.lower, lower);
          } else {
            const std::int64_t upper = floor_of(rest, -static_cast<__int128>(c));
            changed = changed || upper < b.upper;
            b.upper = std::min(b.upper, upper);
          }
          if (b.lower > b.upper) {
            return false;
          }
        }
      }
    }
    // A row that the bounds imply connects nothing.
    std::erase_if(system.rows, [&](const Row &row) {
      __int128 least = row.constant;
      for (size_t v = 0; v < row.coefficients.size(); ++v) {
        const std::int64_t c = row.coefficients[v];
        const Bounds &b = system.bounds[v];
        const std::int64_t end = c > 0 ? b.lower : b.upper;
        if (c != 0 && (end >= far || end <= -far)) {
          return false;
        }
        least += static_cast<__int128>(c) * (c == 0 ? 0 : end);
      }
      return least >= 0;
    });
    return true;
  }

  static std::vector<std::vector<size_t>> parts_of(const System &system) {
    std::vector<size_t> leader(system.bounds.size());
    std::iota(leader.begin(), leader.end(), size_t{0});
    const auto find = [&](size_t v) {
      while (leader[v] != v) {
        v = leader[v] = leader[leader[v]];
      }
      return v;
    };
    for (const Row &row : system.rows) {
      std::optional<size_t> first;
      for (size_t v = 0; v < row.coefficients.size(); ++v) {
        if (row.coefficients[v] != 0) {
          leader[find(v)] = find(first.value_or(v));
          first = first.value_or(v);
        }
      }
    }
    std::map<size_t, std::vector<size_t>> parts;
    for (size_t v = 0; v < leader.size(); ++v) {
      parts[find(v)].push_back(v);
    }
    std::vector<std::vector<size_t>> all;
    for (auto &[key, part] : parts) {
      all.push_back(std::move(part));
    }
    return all;
  }

  /// The sum over the values of the variable that connects most.
  std::optional<std::int64_t> enumerate(const System &system, const std::vector<size_t> &part) {
    System own;
    std::vector<size_t> degree(part.size(), 0);
    for (const size_t v : part) {
      own.bounds.push_back(system.bounds[v]);
    }
    for (const Row &row : system.rows) {
      Row taken{{}, row.constant};
      bool touches = false;
      for (size_t k = 0; k < part.size(); ++k) {
        taken.coefficients.push_back(row.coefficients[part[k]]);
        touches = touches || taken.coefficients.back() != 0;
        degree[k] += taken.coefficients.back() != 0 ? 1 : 0;
      }
      if (touches) {
        own.rows.push_back(std::move(taken));
      }
    }
    std::optional<size_t> best;
    const auto is_better = [&](size_t a, size_t b) {
      const std::int64_t wide_a = own.bounds[a].upper - own.bounds[a].lower;
      const std::int64_t wide_b = own.bounds[b].upper - own.bounds[b].lower;
      return degree[a] != degree[b] ? degree[a] > degree[b] : wide_a < wide_b;
    };
    for (size_t k = 0; k < part.size(); ++k) {
      if (own.bounds[k].is_finite() && (!best || is_better(k, *best))) {
        best = k;
      }
    }
    if (!best || own.bounds[*best].upper - own.bounds[*best].lower >= steps_) {
      return std::nullopt;
    }
    std::int64_t sum = 0;
    for (std::int64_t value = own.bounds[*best].lower; value <= own.bounds[*best].upper; ++value) {
      System fixed = own;
      fixed.bounds[*best] = {value, value};
      for (Row &row : fixed.rows) {
        row.constant += row.coefficients[*best] * value;
        row.coefficients[*best] = 0;
      }
      const auto inside = count(std::move(fixed));
      if (!inside || __builtin_add_overflow(sum, *inside, &sum)) {
        return std::nullopt;
      }
    }
    return sum;
  }

  std::int64_t steps_;
};

/// A coefficient does not fit into 64 bits.
struct TooLarge {};

std::int64_t number(isl_val *value) {
  const std::optional<std::int64_t> known =
      small_integer(checked(isl::manage(value), doing_count_points));
  if (!known || *known >= far || *known <= -far) {
    throw TooLarge();
  }
  return *known;
}

unsigned size_of(isl_size size) {
  if (size < 0) {
    throw_isl_error(doing_count_points);
  }
  return static_cast<unsigned>(size);
}

void add_rows(isl_mat *given, bool equality, System &into) {
  const std::unique_ptr<isl_mat, isl_mat *(*)(isl_mat *)> owned(given, isl_mat_free);
  isl_mat *matrix = owned.get();
  const int rows = isl_mat_rows(matrix);
  const int columns = isl_mat_cols(matrix);
  for (int r = 0; r < rows; ++r) {
    Row row;
    for (int c = 0; c + 1 < columns; ++c) {
      row.coefficients.push_back(number(isl_mat_get_element_val(matrix, r, c)));
    }
    row.constant = number(isl_mat_get_element_val(matrix, r, columns - 1));
    if (equality) {
      Row opposite = row;
      for (std::int64_t &coefficient : opposite.coefficients) {
        coefficient = -coefficient;
      }
      opposite.constant = -row.constant;
      into.rows.push_back(std::move(opposite));
    }
    into.rows.push_back(std::move(row));
  }
}

/// 0 <= e - d * div <= d - 1 for each div, floor(e / d): it has one value at each point, so that
/// points with divs are as many as points.
bool add_divs(isl_basic_set *set, unsigned dimensions, unsigned divs, System &into) {
  const isl::local_space owned = isl::manage(isl_basic_set_get_local_space(set));
  isl_local_space *space = owned.get();
  bool known = true;
  for (unsigned d = 0; known && d < divs; ++d) {
    const isl::aff div = isl::manage(isl_local_space_get_div(space, static_cast<int>(d)));
    known = !div.is_null() && isl_aff_is_nan(div.get()) == isl_bool_false;
    if (!known) {
      break;
    }
    // div is e / d without its floor
    const std::int64_t denominator = number(isl_aff_get_denominator_val(div.get()));
    const auto scaled = [&](isl_val *value) {
      return number(isl_val_mul_ui(value, static_cast<unsigned long>(denominator)));
    };
    Row row{std::vector<std::int64_t>(dimensions + divs, 0), 0};
    for (unsigned v = 0; v < dimensions; ++v) {
      row.coefficients[v] =
          scaled(isl_aff_get_coefficient_val(div.get(), isl_dim_in, static_cast<int>(v)));
    }
    for (unsigned v = 0; v < divs; ++v) {
      row.coefficients[dimensions + v] =
          scaled(isl_aff_get_coefficient_val(div.get(), isl_dim_div, static_cast<int>(v)));
    }
    row.constant = scaled(isl_aff_get_constant_val(div.get()));
    row.coefficients[dimensions + d] -= denominator;
    Row upper = row;
    for (std::int64_t &coefficient : upper.coefficients) {
      coefficient = -coefficient;
    }
    upper.constant = denominator - 1 - row.constant;
    into.rows.push_back(std::move(row));
    into.rows.push_back(std::move(upper));
  }
  return known;
}

/// The constraints of a basic set; nothing where it has a quantified variable that isl does not
/// know as a division.
std::optional<System> system_of(isl_basic_set *set) {
  const auto dimensions = size_of(isl_basic_set_dim(set, isl_dim_set));
  const auto divs = size_of(isl_basic_set_dim(set, isl_dim_div));
  System system;
  system.bounds.resize(dimensions + divs);
  add_rows(
      isl_basic_set_equalities_matrix(set, isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst),
      true, system);
  add_rows(
      isl_basic_set_inequalities_matrix(set, isl_dim_set, isl_dim_div, isl_dim_param, isl_dim_cst),
      false, system);
  if (!add_divs(set, dimensions, divs, system)) {
    return std::nullopt;
  }
  return system;
}

} // namespace

isl::set at_parameters(const isl::set &set, const std::map<std::string, std::int64_t> &values) {
  isl::set fixed = set;
  for (const auto &[name, value] : values) {
    const int position = isl_set_find_dim_by_name(fixed.get(), isl_dim_param, name.c_str());
    if (position >= 0) {
      const auto at = static_cast<unsigned>(position);
      fixed = isl::manage(
          isl_set_project_out(isl_set_fix_val(fixed.release(), isl_dim_param, at,
                                              isl_val_int_from_si(isl_context().get(), value)),
                              isl_dim_param, at, 1));
    }
  }
  return checked(fixed, doing_count_points);
}

std::optional<std::int64_t> count_points(const isl::set &set, std::int64_t steps) {
  const isl::set simple = checked(
      isl::manage(isl_set_compute_divs(isl_set_make_disjoint(isl_set_coalesce(set.copy())))),
      doing_count_points);
  if (size_of(isl_set_dim(simple.get(), isl_dim_param)) > 0) {
    return std::nullopt;
  }
  struct Search {
    Counter counter;
    std::optional<std::int64_t> sum = 0;
  } search{Counter(steps)};
  isl_set_foreach_basic_set(
      simple.get(),
      [](isl_basic_set *part, void *user) {
        auto &into = *static_cast<Search *>(user);
        const isl::basic_set owned = isl::manage(part);
        std::optional<System> system;
        try {
          system = system_of(owned.get());
        } catch (const TooLarge &) { // not through isl
          system.reset();
        }
        const auto count = system ? into.counter.count(*system) : std::nullopt;
        std::int64_t sum = 0;
        if (into.sum && count && !__builtin_add_overflow(*into.sum, *count, &sum)) {
          into.sum = sum;
        } else {
          into.sum.reset();
        }
        return isl_stat_ok;
      },
      &search);
  return search.sum;
}

} // namespace tilewright
