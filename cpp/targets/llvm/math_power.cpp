// pow(x, y) = 2^(y log2|x|). The logarithm is the series of math_logarithm.cpp with its first
// terms as pairs, good to 2^-65 of itself, because y multiplies its error by up to 1024; for
// float32 a float64 is enough. The cases of C's Annex F are put in at the end.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"
#include "targets/llvm/math_steps.h"

#include <limits>

namespace tilewright::math {

namespace {

using namespace lanes;
namespace known = math_coefficients;

/// log2 of a positive finite float64 as a pair.
Pair log2_pair(Real x) {
  const Decomposed parts = decompose(x, true);
  const Real f = parts.m - 1.0; // exact
  // s = f / (2 + f) as a pair
  const Pair below = fast_sum(constant(x, 2.0), f);
  const Real s = f / below.hi;
  const Pair back = product(s, below.hi);
  const Real s_low = (((f - back.hi) - back.lo) - s * below.lo) / below.hi;
  // 2/3 + s^2 P(s^2), then 2 + s^2 (...), then s (...)
  Pair z = product(s, s);
  z.lo = z.lo + 2.0 * (s * s_low);
  Pair inner =
      fast_sum(constant(x, known::two_thirds[0]), z.hi * polynomial(z.hi, known::log_second_tail));
  inner.lo = inner.lo + known::two_thirds[1];
  Pair cubic = product(z.hi, inner.hi);
  cubic.lo = cubic.lo + (z.hi * inner.lo + z.lo * inner.hi);
  Pair factor = fast_sum(constant(x, 2.0), cubic.hi);
  factor.lo = factor.lo + cubic.lo;
  Pair natural = product(s, factor.hi);
  natural.lo = natural.lo + (s * factor.lo + s_low * factor.hi);
  // to base 2
  Pair binary = product(natural.hi, constant(x, known::log2_e_double[0]));
  binary.lo =
      binary.lo + (natural.hi * known::log2_e_double[1] + natural.lo * known::log2_e_double[0]);
  const Pair whole = fast_sum(parts.k, binary.hi);
  return fast_sum(whole.hi, whole.lo + binary.lo);
}

/// |x|^y of float64 where both are finite, and 0, 1 or infinity for infinite y.
Real power_double(Real size, Real y) {
  const Pair logarithm = log2_pair(size);
  // Beyond 2^65 every power of a number other than 1 is 0 or infinite.
  const Real exponent = clamp(y, -0x1p65, 0x1p65);
  Pair e = product(exponent, logarithm.hi);
  e.lo = e.lo + exponent * logarithm.lo;
  const Real whole = clamp(e.hi, -1080.0, 1025.0);
  const Real low = select(whole == e.hi, e.lo, constant(e.lo, 0.0));
  const Rounded k = rounded(whole);
  return scaled(exp2_of_fraction(whole - k.value, low), k);
}

/// The same of float64 that were float32, to 2^-37.
Real power_short(Real size, Real y) {
  const Decomposed parts = decompose(size, false);
  const Real f = parts.m - 1.0;
  const Real s = f / (f + 2.0);
  const Real z = s * s;
  const Real half = (0.5 * f) * f;
  const Real natural = f - (half - s * (half + z * polynomial(z, known::log_tail)));
  const Real logarithm = natural * known::log2_e_double[0] + parts.k;
  return short_exponential(clamp(clamp(y, -0x1p100, 0x1p100) * logarithm, -152.0, 129.0), true);
}

/// All cases; `was_single`: float64 that were float32.
Real any_power(Real x, Real y, bool was_single) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Real size = magnitude(x);
  const Real zero = constant(x, 0.0);
  Real result = was_single ? power_short(size, y) : power_double(size, y);

  const Mask falls = y < 0.0;
  const Mask at_zero = size == 0.0;
  const Mask at_infinity = size == infinity;
  const Real of_zero = select(falls, infinity, zero);
  const Real of_infinity = select(falls, 0.0, constant(x, infinity));
  result = select(at_zero, of_zero, select(at_infinity, of_infinity, result));

  // Whether y is an integer and an odd one: adding 2^52 leaves its integer part in the low bits.
  const Real y_size = magnitude(y);
  const Real pushed = y_size + 0x1p52;
  const Mask large = y_size >= 0x1p52;
  const Mask integral = large | ((pushed - 0x1p52) == y_size);
  const Bits low_bits = select(large, bits_of(y_size), bits_of(pushed));
  const Mask odd = integral & (y_size < 0x1p53) & ~is_zero(low_bits & 1);
  const Bits none = constant(low_bits, 0);
  result = flip_sign(result, select(odd, sign_bit(x), none));

  const Mask undefined = (x < 0.0) & ~integral & ~at_infinity;
  result = select(undefined, std::numeric_limits<double>::quiet_NaN(), result);
  result = select(is_nan(x) | is_nan(y), x + y, result);
  return select((y == 0.0) | (x == 1.0), 1.0, result);
}

} // namespace

Real power(Real x, Real y) {
  return x.is_single() ? narrowed(any_power(widened(x), widened(y), true)) : any_power(x, y, false);
}

} // namespace tilewright::math
