// The array shape of a computation: derived from its domain's bounding box, or checked against it
// when it was given.
#pragma once

#include "algorithm/function.h"

#include <vector>

namespace tilewright {

/// Throws when the domain has an instance with a negative index, or when extents are not affine in
/// parameters.
void check_indices(const Computation &computation, const isl::set &context);

/// Given extents must hold every instance of the domain.
void check_extents(const Computation &computation, const isl::set &context);

/// Largest index plus one in each dimension; at least 0 under `context`. `ranges` may be empty;
/// where the domain is the box they describe (`is_box`) their own bounds are used.
std::vector<ExprPtr> derived_extents(const Computation &computation,
                                     const std::vector<Range> &ranges, bool is_box,
                                     const isl::set &context);

} // namespace tilewright
