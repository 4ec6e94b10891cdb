// cbrt and hypot. x = 2^(3 q + r) m with m in [sqrt(1/2), sqrt(2)) and r -1, 0 or 1: a polynomial
// for the cube root of m, a step of Halley's iteration, and for float64 one of Newton's with the
// cube as two numbers. A hypotenuse is the square root of a sum of squares that is kept in two
// numbers, scaled by a power of two where squares would leave the range. float32 runs in float64.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"
#include "targets/llvm/math_steps.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>

namespace tilewright::math {

namespace {

using namespace lanes;
namespace known = math_coefficients;

constexpr double infinity = std::numeric_limits<double>::infinity();

Real root_of(Real square) {
  return real(square, at(square).CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, square.value));
}

/// Of a positive float64, to 2^-45, or with `exact` to half a unit and a little more.
Real positive_cube_root(Real x, bool may_be_subnormal, bool exact) {
  const Decomposed parts = decompose(x, may_be_subnormal);
  const Rounded q = rounded(parts.k * (1.0 / 3));
  const Real r = parts.k - 3.0 * q.value;
  const Real one = constant(x, 1.0);
  const Real t = parts.m * select(r > 0.0, 2.0, select(r < 0.0, 0.5, one));
  const Real third =
      select(r > 0.0, known::cbrt_of_two[0], select(r < 0.0, 1.0 / known::cbrt_of_two[0], one));
  Real y = third * polynomial(parts.m, known::cbrt_start);
  const Real cube = y * y * y;
  y = y + y * ((t - cube) / ((cube + cube) + t));
  if (exact) {
    const Pair square = product(y, y);
    const Pair whole = product(square.hi, y);
    const Real rest = ((t - whole.hi) - whole.lo) - square.lo * y;
    y = y + rest / (3.0 * square.hi);
  }
  return y * power_of_two(q.raw);
}

Real hypotenuse_double(Real x, Real y, bool fast) {
  const Real x_size = magnitude(x);
  const Real y_size = magnitude(y);
  const Mask first = x_size > y_size;
  const Real larger = select(first, x_size, y_size);
  const Real smaller = select(first, y_size, x_size);
  const Mask huge = larger > 0x1p500;
  const Mask tiny = larger < 0x1p-400;
  const Real one = constant(x, 1.0);
  const Real scale = select(huge, 0x1p-600, select(tiny, 0x1p600, one));
  const Real back = select(huge, 0x1p600, select(tiny, 0x1p-600, one));
  const Real a = larger * scale;
  const Real b = smaller * scale;
  if (fast) {
    return root_of(muladd(a, a, b * b)) * back;
  }
  const Pair a_square = product(a, a);
  const Pair b_square = product(b, b);
  const Pair head = fast_sum(a_square.hi, b_square.hi);
  const Pair root = square_root(fast_sum(head.hi, head.lo + (a_square.lo + b_square.lo)));
  return (root.hi + root.lo) * back;
}

} // namespace

Pair square_root(const Pair &x) {
  const Real s = root_of(x.hi);
  const Pair back = product(s, s);
  const Real low = (((x.hi - back.hi) - back.lo) + x.lo) / (s + s);
  return {s, select(x.hi == 0.0, 0.0, low)};
}

Real cube_root(Real x, bool fast) {
  const Real wide = magnitude(x.is_single() ? widened(x) : x);
  const Real root = positive_cube_root(wide, !x.is_single(), !x.is_single() && !fast);
  const Real finite = select((wide == 0.0) | (wide == infinity) | is_nan(wide), wide, root);
  return with_sign(x.is_single() ? narrowed(finite) : finite, x);
}

Real hypotenuse(Real x, Real y, bool fast) {
  Real result = x;
  if (x.is_single()) {
    const Real a = widened(x);
    const Real b = widened(y);
    result = narrowed(root_of(a * a + b * b));
  } else {
    result = hypotenuse_double(x, y, fast);
  }
  const Mask unbounded = (magnitude(x) == infinity) | (magnitude(y) == infinity);
  const Real known_number = select(is_nan(x) | is_nan(y), x + y, result);
  return select(unbounded, infinity, known_number);
}

} // namespace tilewright::math
