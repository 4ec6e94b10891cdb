// Intervals of floating-point values: what clamped, periodic and bounded functions leave of values
// that nobody knows. Bounds of minimum, maximum, floor and the like are exact; those of arithmetic
// and of functions are a bit wider than what IEEE arithmetic gives, as fast_math and
// implementations of a function differ in their last digits.
#pragma once

#include "algorithm/expression.h"

#include <optional>
#include <vector>

namespace tilewright {

/// lo <= value <= hi, or NaN if it may be.
struct FloatRange {
  double lo = 0;
  double hi = 0;
  bool may_be_nan = false;
};

FloatRange any_float();
FloatRange either(const FloatRange &a, const FloatRange &b);

/// Of an operation on values in these intervals, of a floating-point result type.
FloatRange range_of(Op op, ScalarType type, const std::vector<FloatRange> &operands);

/// What a condition "value op bound", which holds, leaves of an interval.
FloatRange restricted(const FloatRange &value, Op op, const FloatRange &bound);

} // namespace tilewright
