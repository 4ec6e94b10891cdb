// exp, exp2 and expm1. x = k ln 2 + r with |r| <= ln(2)/2 in Cody and Waite's two parts, a
// polynomial for (exp(r) - 1 - r) / r^2, and 2^k in two factors so that results below the normal
// range are rounded once. exp of float32 keeps what 1 + r loses, as that of float64 does; exp2 and
// expm1 of float32 run in float64 and are rounded at the end.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"
#include "targets/llvm/math_steps.h"

namespace tilewright::math {

using namespace lanes;
namespace known = math_coefficients;

namespace {

constexpr double log2_e = known::log2_e_double[0];
constexpr auto log2_e_single = static_cast<float>(log2_e);

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

Real exp2_single(Real x) {
  const Real clamped = clamp(x, -152.0, 129.0);
  const Rounded k = rounded(clamped);
  return scaled(polynomial(clamped - k.value, known::exp2_single), k);
}

/// exp(r) - 1 - r is taken apart into r^2 / 2, of which the larger part is exact, and what is left.
/// Beyond 40 the 1 is lost in the rounding, and below -40 all else is.
Real expm1_double(Real x, bool fast) {
  const Reduced reduced = reduce_exponent(clamp(x, -60.0, 710.0));
  const Real r = reduced.r;
  const Real upper = upper_half(r);
  const Real half_square = 0.5 * (upper * upper);
  const Real cubic = (r * r) * (r * polynomial(r, &known::exp_tail[1], known::exp_tail.size() - 1));
  const Real rest = 0.5 * ((r - upper) * (r + upper)) + (cubic + reduced.error);
  const Pair head = fast_sum(constant(x, 1.0), r);
  const Real far = scaled(head.hi + (head.lo + (half_square + rest)), reduced.k);
  const Real power = power_of_two(reduced.k.raw);
  const Real less_one = power - 1.0;
  Real near = muladd(power, r + (half_square + rest), less_one);
  if (!fast) {
    const Real lost = -1.0 - (less_one - power); // beyond 2^53
    const Pair first = fast_sum(less_one, power * r);
    const Pair second = fast_sum(first.hi, power * half_square);
    near = second.hi + ((second.lo + (first.lo + lost)) + power * rest);
  }
  return with_sign(select(x > 40.0, far, near), x);
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

Real exp_tail(const Reduced &reduced) {
  const Real r = reduced.r;
  return muladd(r * r, polynomial(r, known::exp_tail), reduced.error);
}

/// 2^(x log2(e)), the product in two parts. What is below the normal range becomes zero.
Real exponential_by_instruction(Real x) {
  const Real bounded = clamp(x, -105.0, 90.0);
  const Real product = bounded * log2_e_single;
  const Real lost = muladd(bounded, log2_e_single, -product);
  const Real rest = muladd(bounded, log2_e - static_cast<double>(log2_e_single), lost);
  // Infinity stays what it is by this form.
  return exp2_by_instruction(product) * muladd(rest, known::ln2_double[0], constant(x, 1.0));
}

Real exponential_single(Real x, bool fast) {
  if (x.frame->has_exp2) {
    return exponential_by_instruction(x);
  }
  const Reduced reduced = reduce_exponent(clamp(x, -105.0, 90.0));
  const Real r = reduced.r;
  if (fast) {
    return scaled(muladd(r * r, polynomial(r, known::exp_single), r) + 1.0, reduced.k);
  }
  const Real tail = (r * r) * polynomial(r, known::exp_single) + reduced.error;
  const Pair head = fast_sum(constant(x, 1.0), r);
  return scaled(head.hi + (head.lo + tail), reduced.k);
}

Pair exp_less_one(const Reduced &reduced, Real tail) {
  const Real power = power_of_two(reduced.k.raw);
  const Pair head = fast_sum(power - 1.0, power * reduced.r); // |first| >= |second|, or first = 0
  return fast_sum(head.hi, head.lo + power * tail);
}

Real exponential(Op op, Real x, bool fast) {
  if (!x.is_single()) {
    return op == Op::Exp    ? exp_double(x, fast)
           : op == Op::Exp2 ? exp2_double(x, fast)
                            : expm1_double(x, fast);
  }
  if (op == Op::Expm1) {
    const Real less_one = short_exponential_less_one(clamp(widened(x), -60.0, 90.0));
    return with_sign(narrowed(less_one), x);
  }
  if (op == Op::Exp) {
    return exponential_single(x, fast);
  }
  return fast ? exp2_single(x)
              : narrowed(short_exponential(clamp(widened(x), -152.0, 129.0), true));
}

} // namespace tilewright::math
