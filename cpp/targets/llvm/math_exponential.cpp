// exp, exp2, sinh, cosh and tanh. x = k ln 2 + r with |r| <= ln(2)/2 in Cody and Waite's two parts,
// a polynomial for (exp(r) - 1 - r) / r^2, and 2^k in two factors so that results below the normal
// range are rounded once. float32 runs in float64 and is rounded at the end.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"
#include "targets/llvm/math_steps.h"

namespace tilewright::math {

using namespace lanes;
namespace known = math_coefficients;

namespace {

constexpr double log2_e = known::log2_e_double[0];

/// (exp(r + error) - 1 - r) to float64's precision of r^2.
Real exp_tail(const Reduced &reduced) {
  const Real r = reduced.r;
  return muladd(r * r, polynomial(r, known::exp_tail), reduced.error);
}

Real exp_double(Real x, bool fast) {
  const Reduced reduced = reduce_exponent(clamp(x, -746.0, 710.0));
  const Real tail = exp_tail(reduced);
  if (fast) {
    return scaled((reduced.r + tail) + 1.0, reduced.k);
  }
  const Pair head = fast_sum(constant(x, 1.0), reduced.r);
  return scaled(head.hi + (head.lo + tail), reduced.k);
}

Real exp2_double(Real x, bool fast) {
  const Real clamped = clamp(x, -1076.0, 1025.0);
  const Rounded k = rounded(clamped);
  const Real r = clamped - k.value; // exact
  if (fast) {
    const Real tail = (r * r) * polynomial(r, known::exp2_tail);
    return scaled(muladd(r, known::ln2_double[0], tail) + 1.0, k);
  }
  return scaled(exp2_of_fraction(r, constant(r, 0.0)), k);
}

Real exp_single(Real x) {
  const Reduced reduced = reduce_exponent(clamp(x, -105.0, 90.0));
  const Real r = reduced.r;
  return scaled(muladd(r * r, polynomial(r, known::exp_single), r) + 1.0, reduced.k);
}

Real exp2_single(Real x) {
  const Real clamped = clamp(x, -152.0, 129.0);
  const Rounded k = rounded(clamped);
  return scaled(polynomial(clamped - k.value, known::exp2_single), k);
}

/// exp(x) - 1 as a pair; right while 0 <= k <= 60.
Pair exp_less_one(const Reduced &reduced, Real tail) {
  const Real power = power_of_two(reduced.k.raw);
  const Pair head = fast_sum(power - 1.0, power * reduced.r); // |first| >= |second|, or first = 0
  return fast_sum(head.hi, head.lo + power * tail);
}

Real tanh_double(Real x, bool fast) {
  // With E = exp(2|x|) - 1: E / (E + 2).
  const Real size = magnitude(x);
  const Reduced reduced = reduce_exponent(clamp(size + size, 0.0, 44.0));
  const Real tail = exp_tail(reduced);
  if (fast) {
    const Real power = power_of_two(reduced.k.raw);
    const Real less_one = muladd(power, reduced.r + tail, power - 1.0);
    return with_sign(less_one / (less_one + 2.0), x);
  }
  const Pair less_one = exp_less_one(reduced, tail);
  Pair below = sum(less_one.hi, constant(x, 2.0));
  below.lo = below.lo + less_one.lo;
  const Pair result = quotient(less_one, below);
  return with_sign(result.hi + result.lo, x);
}

Real tanh_single(Real x) {
  const Real size = magnitude(x);
  const Real square = x * x;
  const Real small = muladd(size * square, polynomial(square, known::tanh_single), size);
  const Real grown = exp_single(clamp(size + size, 0.0, 20.0));
  const Real large = 1.0 - 2.0 / (grown + 1.0);
  return with_sign(select(size < 0.625, small, large), x);
}

/// W = exp(|x|) / 2 as a pair that a last addition rounds; cosh is W + 1/(4 W).
Real cosh_double(Real x) {
  const Reduced reduced = reduce_exponent(clamp(magnitude(x), 0.0, 711.0));
  const Pair head = fast_sum(constant(x, 1.0), reduced.r);
  const Pair grown = fast_sum(head.hi, head.lo + exp_tail(reduced)); // without 2^k
  const Real power = power_of_two(reduced.k.raw & 0x7f); // right where it is used: k < 64
  const Real inverse = 1.0 / (grown.hi * power);
  const Real corrected = inverse - inverse * (inverse * (grown.lo * power));
  const Pair both = sum(grown.hi * power, corrected);
  const Real near = 0.5 * (both.hi + (both.lo + grown.lo * power));
  // exp(|x|) may be beyond the range where its half is not.
  const Rounded less{reduced.k.value - 1.0, reduced.k.raw - 1};
  return select(magnitude(x) < 22.0, near, scaled(grown.hi, less));
}

/// With E = exp(|x|) - 1: (E + E / (E + 1)) / 2.
Real sinh_double(Real x) {
  const Reduced reduced = reduce_exponent(clamp(magnitude(x), 0.0, 711.0));
  const Real tail = exp_tail(reduced);
  const Pair head = fast_sum(constant(x, 1.0), reduced.r);
  const Rounded less{reduced.k.value - 1.0, reduced.k.raw - 1};
  const Real far = scaled(head.hi + (head.lo + tail), less);
  const Pair less_one = exp_less_one(reduced, tail);
  const Pair below = sum(less_one.hi, constant(x, 1.0));
  const Pair share = quotient(less_one, {below.hi, below.lo + less_one.lo});
  const Pair both = fast_sum(less_one.hi, share.hi);
  const Real near = 0.5 * (both.hi + (both.lo + (less_one.lo + share.lo)));
  return with_sign(select(magnitude(x) < 22.0, near, far), x);
}

/// float64 that were float32, to 2^-36.
Real hyperbolic_short(Op op, Real x) {
  const Real size = magnitude(x);
  if (op == Op::Tanh) {
    const Real less_one = short_exponential_less_one(clamp(size + size, 0.0, 44.0));
    return with_sign(less_one / (less_one + 2.0), x);
  }
  const Real limited = clamp(size, 0.0, 90.0);
  if (op == Op::Cosh) {
    const Real grown = short_exponential(limited, false);
    return 0.5 * (grown + 1.0 / grown);
  }
  const Real less_one = short_exponential_less_one(limited);
  return with_sign(0.5 * (less_one + less_one / (less_one + 1.0)), x);
}

} // namespace

Real scaled(Real y, const Rounded &k) {
  const Rounded half = rounded(k.value * 0.5);
  return (y * power_of_two(half.raw)) * power_of_two(k.raw - half.raw);
}

Reduced reduce_exponent(Real x) {
  const auto &parts = x.is_single() ? known::ln2_single : known::ln2_parts;
  const Rounded k = rounded(x * log2_e);
  const Real hi = muladd(k.value, -parts[0], x); // exact
  const Real lo = k.value * parts[1];
  const Real r = hi - lo;
  return {k, r, (hi - r) - lo};
}

Real short_exponential(Real x, bool binary) {
  const Rounded k = rounded(binary ? x : x * log2_e);
  const Real r = binary ? (x - k.value) * known::ln2_double[0] : x - k.value * known::ln2_double[0];
  return ((r + (r * r) * polynomial(r, known::exp_short)) + 1.0) * power_of_two(k.raw);
}

Real short_exponential_less_one(Real x) {
  const Rounded k = rounded(x * log2_e);
  const Real r = x - k.value * known::ln2_double[0];
  const Real power = power_of_two(k.raw);
  return (power - 1.0) + power * (r + (r * r) * polynomial(r, known::exp_short));
}

Real exp2_of_fraction(Real r, Real low) {
  const Real tail = (r * r) * polynomial(r, known::exp2_tail);
  const Real r1 = upper_half(r);
  const Real hi = r1 * known::ln2_halves[0]; // exact
  const Real lo = r1 * known::ln2_halves[1] + (r - r1) * known::ln2_double[0];
  const Pair head = fast_sum(constant(r, 1.0), hi);
  const Real rest = lo + tail;
  // 2^low is 1 + low ln 2 closely enough.
  const Real more = (low * known::ln2_double[0]) * (head.hi + tail);
  return head.hi + (head.lo + (rest + more));
}

Real exponential(Op op, Real x, bool fast) {
  if (!x.is_single()) {
    return op == Op::Exp ? exp_double(x, fast) : exp2_double(x, fast);
  }
  if (fast) {
    return op == Op::Exp ? exp_single(x) : exp2_single(x);
  }
  const Real wide =
      op == Op::Exp ? clamp(widened(x), -110.0, 90.0) : clamp(widened(x), -152.0, 129.0);
  return narrowed(short_exponential(wide, op == Op::Exp2));
}

Real hyperbolic(Op op, Real x, bool fast) {
  if (x.is_single()) {
    return fast && op == Op::Tanh ? tanh_single(x) : narrowed(hyperbolic_short(op, widened(x)));
  }
  switch (op) {
  case Op::Tanh:
    return tanh_double(x, fast);
  case Op::Sinh:
    return sinh_double(x);
  default:
    return cosh_double(x);
  }
}

} // namespace tilewright::math
