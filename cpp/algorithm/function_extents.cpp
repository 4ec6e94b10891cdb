#include "algorithm/function_extents.h"

#include "algorithm/affine.h"
#include "algorithm/declaration_checks.h"
#include "polyhedral/set_text.h"

#include <isl/set.h>

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

/// One more than the largest value of an iterator.
ExprPtr past_last(const Computation &computation, size_t d, const isl::set &context) {
  // The pieces of the answer may be as many as the product of all divisors in the conditions.
  constexpr std::uint64_t extent_operation_limit = 400'000;
  try {
    const OperationLimit limit(extent_operation_limit);
    const isl::set possible = computation.domain.intersect_params(context);
    const isl::pw_aff last =
        checked(possible.dim_max(static_cast<int>(d)).add_constant(1).gist(context),
                "deriving the extents of a computation");
    return from_affine(last, {});
  } catch (const Error &error) {
    if (error.kind != ErrorKind::Limit) {
      throw;
    }
    const std::string &name = computation.iterators[d];
    throw Error(ErrorKind::Limit,
                "the shape of " + computation.name + ": the largest " + name +
                    " of its domain takes more integer-set operations than the limit allows; give "
                    "the shape (shape=[...]), or simplify the conditions on " +
                    name,
                computation.where);
  }
}

} // namespace

void check_indices(const Computation &computation, const isl::set &context) {
  for (size_t d = 0; d < computation.rank(); ++d) {
    const isl::set negative =
        checked(isl::manage(isl_set_upper_bound_si(computation.domain.copy(), isl_dim_set,
                                                   static_cast<unsigned>(d), -1)),
                "checking the domain of a computation");
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
                    (parameters.empty() ? "" : " (" + parameters + ")") +
                    ", but indices must be >= 0: shift " + computation.iterators[d] +
                    " so that it starts at 0",
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

std::vector<ExprPtr> derived_extents(const Computation &computation,
                                     const std::vector<Range> &ranges, bool is_box,
                                     const isl::set &context) {
  std::vector<ExprPtr> extents;
  for (size_t d = 0; d < computation.rank(); ++d) {
    if (is_box && ranges[d].upper != nullptr && !depends_on_iterators(ranges[d].upper)) {
      extents.push_back(not_negative(cast(ranges[d].upper, Int64), context));
    } else {
      extents.push_back(not_negative(past_last(computation, d, context), context));
    }
  }
  return extents;
}

} // namespace tilewright
