// The array of a computation: derived from its domain's bounding box, or checked against it when
// its shape was given.
#pragma once

#include "algorithm/function.h"

#include <string>
#include <vector>

namespace tilewright {

bool is_zero(const ExprPtr &value);

/// The first index of an array along a dimension; `origin` as of a Computation.
ExprPtr first_index(const std::vector<ExprPtr> &origin, size_t d);

/// The sum (Op::Add), difference, minimum or maximum of two functions of parameters, in as few
/// terms as it has.
ExprPtr combined(Op op, const ExprPtr &a, const ExprPtr &b);

/// Throws when the domain has an instance with a negative index; `why` says what needs none.
void check_indices(const Computation &computation, const isl::set &context, const std::string &why);

/// Throws when the array of an output is larger than its domain needs (Computation::enclosed).
void require_exact_shape(const Computation &output);

/// Given extents must hold every instance of the domain.
void check_extents(const Computation &computation, const isl::set &context);

/// Sets the origin and the extents of the computation's array: of each dimension from 0, or from
/// the smallest index where that may be negative under `context`, to the largest one; at least 0.
/// Where isl finds these only in very many steps, the box is around a simpler set that holds the
/// domain. `ranges` may be empty; where the domain is the box they describe (`is_box`) their own
/// bounds are used.
void derive_extents(Computation &computation, const std::vector<Range> &ranges, bool is_box,
                    const isl::set &context);

/// The array of a computation that is never an output begins where its domain does, also where that
/// is a parameter: of elements from b to e there are e - b, however late they are.
void begin_at_domain(Computation &computation);

} // namespace tilewright
