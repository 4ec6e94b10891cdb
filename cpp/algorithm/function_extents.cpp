#include "algorithm/function_extents.h"

#include "algorithm/affine.h"
#include "algorithm/declaration_checks.h"
#include "polyhedral/set_text.h"

#include <isl/set.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tilewright {

namespace {

/// The expression, or max(0, expression) where it may be negative under the context.
ExprPtr not_negative(const ExprPtr &extent, const isl::set &context) {
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const auto negative = compare(Op::Lt, extent, zero, IterationSpace{});
  if (!negative) {
    return extent;
  }
  const isl::set possible = negative->params().intersect(context);
  const bool never = checked(possible.is_empty(), "deriving the extents of a computation");
  return never ? extent : binary(Op::Max, zero, extent);
}

bool depends_on_iterators(const ExprPtr &expr) {
  bool found = false;
  visit(expr, [&](const ExprPtr &node) { found = found || node->kind == ExprKind::Iterator; });
  return found;
}

constexpr const char *doing_function_extents = "deriving the extents of a computation";

/// The indices of one dimension: so many, from `first` on (null: 0).
struct Interval {
  ExprPtr first;
  ExprPtr extent;
};

isl::set negative_part(const Computation &computation, size_t d) {
  return checked(isl::manage(isl_set_upper_bound_si(computation.domain.copy(), isl_dim_set,
                                                    static_cast<unsigned>(d), -1)),
                 "checking the domain of a computation");
}

bool may_be_negative(const Computation &computation, size_t d, const isl::set &context) {
  const isl::set negative = negative_part(computation, d).intersect_params(context);
  return !checked(negative.is_empty(), "checking the domain of a computation");
}

/// Between the smallest and the largest value of a dimension. Nothing where isl needs more
/// operations for it than are worth while.
std::optional<Interval> spanned(const isl::set &domain, size_t d, bool from_zero,
                                const isl::set &context) {
  // The pieces of the answer may be as many as the product of all divisors in the conditions.
  constexpr std::uint64_t extent_operation_limit = 400'000;
  try {
    const OperationLimit limit(extent_operation_limit);
    const isl::set possible = domain.intersect_params(context);
    const isl::pw_aff end = possible.dim_max(static_cast<int>(d)).add_constant(1);
    const auto expression = [&](const isl::pw_aff &value) {
      return from_affine(checked(value.gist(context), doing_function_extents), {});
    };
    if (from_zero) {
      return Interval{nullptr, expression(end)};
    }
    const isl::pw_aff first = possible.dim_min(static_cast<int>(d));
    return Interval{expression(first.coalesce()), expression(end.sub(first).coalesce())};
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    return std::nullopt;
  }
}

/// A domain of plain inequalities around another one.
isl::set simple_hull(const isl::set &domain) {
  isl_set *plain = isl_set_remove_divs(domain.copy());
  return checked(isl::manage(isl_set_from_basic_set(isl_set_simple_hull(plain))),
                 doing_function_extents);
}

[[noreturn]] void refuse_shape(const Computation &computation, size_t d) {
  const std::string &name = computation.iterators[d];
  throw Error(ErrorKind::Limit,
              "the shape of " + computation.name + ": the largest " + name +
                  " of its domain takes more integer-set operations than the limit allows; give "
                  "the shape (shape=[...]), or simplify the conditions on " +
                  name,
              computation.where);
}

} // namespace

bool is_zero(const ExprPtr &value) {
  const auto *number =
      value->kind == ExprKind::Constant ? std::get_if<std::int64_t>(&value->value) : nullptr;
  return number != nullptr && *number == 0;
}

ExprPtr first_index(const std::vector<ExprPtr> &origin, size_t d) {
  return d < origin.size() ? origin[d] : constant(std::int64_t{0}, Int64);
}

ExprPtr combined(Op op, const ExprPtr &a, const ExprPtr &b) {
  const auto first = to_affine(a, IterationSpace{});
  const auto second = to_affine(b, IterationSpace{});
  if (!first || !second) {
    return binary(op, a, b);
  }
  const isl::pw_aff value = op == Op::Add   ? first->add(*second)
                            : op == Op::Sub ? first->sub(*second)
                            : op == Op::Min ? first->min(*second)
                                            : first->max(*second);
  return from_affine(checked(value.coalesce(), doing_function_extents), {});
}

void require_exact_shape(const Computation &output) {
  if (output.enclosed > 0) {
    refuse_shape(output, output.enclosed - 1);
  }
}

bool starts_at_zero(const Computation &computation) {
  return std::all_of(computation.origin.begin(), computation.origin.end(), is_zero);
}

void check_indices(const Computation &computation, const isl::set &context,
                   const std::string &why) {
  for (size_t d = 0; d < computation.rank(); ++d) {
    const isl::set negative = negative_part(computation, d);
    if (checked(negative.is_empty(), "checking the domain of a computation")) {
      continue;
    }
    Point point;
    if (!sample_point(negative.intersect_params(context), point)) {
      continue;
    }
    const std::string at = instance_text(computation.name, point.coordinates);
    const std::string parameters = parameter_text(point);
    Error error(ErrorKind::Declaration,
                "the domain of " + computation.name + " holds " + at +
                    (parameters.empty() ? "" : " (" + parameters + ")") + ", but " + why +
                    ": shift " + computation.iterators[d] + " so that it starts at 0",
                computation.where);
    error.details["point"] = at;
    error.details["parameters"] = parameters;
    throw error;
  }
}

void check_extents(const Computation &computation, const isl::set &context) {
  const IterationSpace space{computation.name, computation.iterators};
  for (size_t d = 0; d < computation.rank(); ++d) {
    const ExprPtr &extent = computation.extents[d];
    const auto beyond = compare(Op::Ge, iterator(computation.iterators[d]), extent, space);
    if (!beyond) {
      continue; // refused where the extents were taken
    }
    Point point;
    if (!sample_point(computation.domain.intersect(*beyond).intersect_params(context), point)) {
      continue;
    }
    const std::string at = instance_text(computation.name, point.coordinates);
    const std::string parameters = parameter_text(point);
    Error error(ErrorKind::Bounds,
                "extent " + std::to_string(d) + " of " + computation.name + " is " +
                    to_string(extent) + ", too small for " + at + " of its domain" +
                    (parameters.empty() ? "" : " (" + parameters + ")"),
                computation.where);
    error.details["point"] = at;
    error.details["parameters"] = parameters;
    throw error;
  }
}

void derive_extents(Computation &computation, const std::vector<Range> &ranges, bool is_box,
                    const isl::set &context) {
  std::vector<ExprPtr> origin;
  for (size_t d = 0; d < computation.rank(); ++d) {
    const bool from_zero = !may_be_negative(computation, d, context);
    Interval interval;
    if (is_box && ranges[d].upper != nullptr && !depends_on_iterators(ranges[d].upper)) {
      const ExprPtr upper = cast(ranges[d].upper, Int64);
      const ExprPtr lower = cast(ranges[d].lower, Int64);
      interval =
          from_zero ? Interval{nullptr, upper} : Interval{lower, combined(Op::Sub, upper, lower)};
    } else {
      auto found = spanned(computation.domain, d, from_zero, context);
      if (!found) {
        computation.enclosed = d + 1;
        found = spanned(simple_hull(computation.domain), d, from_zero, context);
      }
      if (!found) {
        refuse_shape(computation, d);
      }
      interval = std::move(*found);
    }
    computation.extents.push_back(not_negative(interval.extent, context));
    origin.push_back(from_zero ? constant(std::int64_t{0}, Int64) : interval.first);
  }
  if (!std::all_of(origin.begin(), origin.end(), is_zero)) {
    computation.origin = std::move(origin);
  }
}

void begin_at_domain(Computation &computation) {
  std::vector<ExprPtr> origin;
  for (size_t d = 0; d < computation.rank(); ++d) {
    const auto interval = spanned(computation.domain, d, false, computation.context);
    const bool moves = interval && interval->first->kind != ExprKind::Constant;
    if (moves) {
      computation.extents[d] = not_negative(interval->extent, computation.context);
    }
    origin.push_back(moves ? interval->first : first_index(computation.origin, d));
  }
  if (!std::all_of(origin.begin(), origin.end(), is_zero)) {
    computation.origin = std::move(origin);
  }
}

} // namespace tilewright
