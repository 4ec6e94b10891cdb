// erf: x + x P(x^2) up to 1 or a little more, and 1 - exp(-x^2) Q((x - 2) / (x + 2)) beyond, until
// it is 1.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"
#include "targets/llvm/math_steps.h"

namespace tilewright::math {

namespace {

using namespace lanes;
namespace known = math_coefficients;

/// x + x (c0 + c1 x^2 + ...), the first two terms of the sum as pairs, because they cancel.
Real erf_near_zero(Real x, bool fast) {
  if (fast) {
    return muladd(x, polynomial(x * x, known::erf_factor), x);
  }
  const Pair square = product(x, x);
  const Real z = square.hi;
  const Real rest =
      (z * z) * polynomial(z, known::erf_factor.data() + 2, known::erf_factor.size() - 2);
  const Pair linear = product(z, constant(x, known::erf_factor[1]));
  const Pair first = sum(constant(x, known::erf_factor[0]), linear.hi);
  const Real low = first.lo + ((linear.lo + square.lo * known::erf_factor[1]) + rest);
  const Pair scaled_first = product(x, first.hi);
  const Pair head = fast_sum(x, scaled_first.hi);
  return head.hi + (head.lo + (scaled_first.lo + x * low));
}

Real erf_double(Real x, bool fast) {
  const Real small = erf_near_zero(x, fast);
  const Real size = clamp(magnitude(x), 1.0, 6.0);
  const Pair square = fast ? Pair{size * size, constant(x, 0.0)} : product(size, size);
  const Reduced reduced = reduce_exponent(-square.hi);
  const Real r = reduced.r;
  const Real tail = (r * r) * polynomial(r, known::exp_tail) + (reduced.error - square.lo);
  const Real decay = (1.0 + (r + tail)) * power_of_two(reduced.k.raw);
  const Real factor = polynomial((size - 2.0) / (size + 2.0), known::erfc_factor);
  const Real large = 1.0 - decay * factor;
  return select(magnitude(x) < 1.0, small, with_sign(large, x));
}

Real erf_short(Real x) {
  const Real square = x * x;
  const Real small = x + x * polynomial(square, known::erf_factor_short);
  const Real size = clamp(magnitude(x), 1.0, 4.0);
  const Real decay = short_exponential(-(size * size), false);
  const Real factor = polynomial((size - 2.0) / (size + 2.0), known::erfc_factor_short);
  return select(magnitude(x) < 1.0, small, with_sign(1.0 - decay * factor, x));
}

Real erf_single(Real x) {
  const Real square = x * x;
  const Real small = muladd(x, polynomial(square, known::erf_factor_single), x);
  const Real size = clamp(magnitude(x), 1.0, 4.0);
  const Real decay = exponential(Op::Exp, -(size * size), true);
  const Real factor = polynomial((size - 2.0) / (size + 2.0), known::erfc_factor_single);
  return select(magnitude(x) < 1.0, small, with_sign(1.0 - decay * factor, x));
}

} // namespace

Real error_function(Real x, bool fast) {
  if (!x.is_single()) {
    return with_sign(erf_double(x, fast), x);
  }
  return with_sign(fast ? erf_single(x) : narrowed(erf_short(widened(x))), x);
}

} // namespace tilewright::math
