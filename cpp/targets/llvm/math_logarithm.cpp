// log, log2, log10 and log1p. x = 2^k m with m in [sqrt(1/2), sqrt(2)), f = m - 1, s = f / (2 + f)
// and
//   log(m) = 2 atanh(s) = f - f^2/2 + s (f^2/2 + R(s^2)),
// whose first two terms are kept exactly. For log1p, x = 1 + a is two numbers, and what m lacks of
// it goes into f. float32 runs in float64 and is rounded at the end.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"
#include "targets/llvm/math_steps.h"

#include <limits>

namespace tilewright::math {

using namespace lanes;
namespace known = math_coefficients;

namespace {

/// Puts the values of log at 0, infinity, NaN and negative numbers in.
Real with_limits(Real x, Real result) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Real finite = select(x == infinity, x, result);
  const Real positive = select(x == 0.0, -infinity, finite);
  return select(mask(x, at(x).CreateFCmpULT(x.value, constant(x, 0.0).value)),
                constant(x, std::numeric_limits<double>::quiet_NaN()), positive);
}

/// f - f^2/2 + s (f^2/2 + R) with f^2/2 in two parts, the first exact.
struct Terms {
  Real f;
  Real half_square;
  Real rest;
};

Terms terms_of(Real f) {
  const Real s = f / (f + 2.0);
  const Real z = s * s;
  const Real series = z * polynomial(z, known::log_tail);
  const Real f1 = upper_half(f);
  const Real head = 0.5 * (f1 * f1);
  const Real tail = 0.5 * ((f - f1) * (f + f1));
  return {f, head, s * ((head + tail) + series) - tail};
}

Real log_double(Op op, Real x) {
  const Decomposed parts = decompose(x, true);
  const Terms terms = terms_of(parts.m - 1.0); // exact
  if (op == Op::Log) {
    const Pair first = fast_sum(parts.k * known::ln2_parts[0], terms.f);
    const Pair second = fast_sum(first.hi, -terms.half_square);
    return second.hi + ((first.lo + second.lo) + (terms.rest + parts.k * known::ln2_parts[1]));
  }
  // The logarithm as a pair times 1 / ln(base) as a pair.
  const Pair natural = fast_sum(terms.f, -terms.half_square);
  const Real hi = upper_half(natural.hi);
  const Real lo = (natural.hi - hi) + (natural.lo + terms.rest);
  const bool binary = op == Op::Log2;
  const auto &halves = binary ? known::log2_e_halves : known::log10_e_halves;
  const double scale = binary ? known::log2_e_double[0] : known::log10_e_double[0];
  const Real exponent = binary ? parts.k : parts.k * known::log10_2_parts[0];
  Real small = hi * halves[1] + lo * scale;
  if (!binary) {
    small = small + parts.k * known::log10_2_parts[1];
  }
  const Pair large = fast_sum(exponent, hi * halves[0]);
  return large.hi + (large.lo + small);
}

/// 1 + a as 2^k (1 + f), f a pair.
struct Shifted {
  Real all; ///< 1 + a, rounded
  Real k;
  Pair f;
};

Shifted one_and(const Pair &a) {
  const Pair all = sum(constant(a.hi, 1.0), a.hi);
  const Decomposed parts = decompose(all.hi, false);
  // m / x = 2^-k, where the low part still counts beside the result.
  const Bits one = bits_of(constant(a.hi, 1.0));
  const Real scale = real_of(one + (bits_of(parts.m) - bits_of(all.hi)));
  const Mask counts = all.hi < 0x1p60;
  const Real zero = constant(a.hi, 0.0);
  Pair f = sum(parts.m - 1.0, select(counts, all.lo * scale, zero));
  f.lo = f.lo + select(counts, a.lo * scale, zero);
  return {all.hi, parts.k, f};
}

Real log_double_fast(Op op, Real x) {
  const Decomposed parts = decompose(x, true);
  const Real f = parts.m - 1.0;
  const Real s = f / (f + 2.0);
  const Real z = s * s;
  const Real half = (0.5 * f) * f;
  const Real series = muladd(z, polynomial(z, known::log_tail), half);
  const Real small = f - (half - s * series);
  if (op == Op::Log) {
    return muladd(parts.k, known::ln2_double[0], small);
  }
  return op == Op::Log2 ? muladd(small, known::log2_e_double[0], parts.k)
                        : muladd(parts.k, known::log10_2_parts[0] + known::log10_2_parts[1],
                                 small * known::log10_e_double[0]);
}

/// log(1 + f) of f between sqrt(1/2) - 1 and sqrt(2) - 1, to 2^-37.
Real short_series(Real f) {
  const Real s = f / (f + 2.0);
  const Real z = s * s;
  return s * (z * polynomial(z, known::log_short) + 2.0);
}

/// Of a float64 that was a float32.
Real log_short(Op op, Real x) {
  const Decomposed parts = decompose(x, false);
  const Real natural = short_series(parts.m - 1.0);
  switch (op) {
  case Op::Log:
    return natural + parts.k * known::ln2_double[0];
  case Op::Log2:
    return natural * known::log2_e_double[0] + parts.k;
  default:
    return natural * known::log10_e_double[0] +
           parts.k * (known::log10_2_parts[0] + known::log10_2_parts[1]);
  }
}

Real log_single(Op op, Real x) {
  const Decomposed parts = decompose(x, true);
  const Real f = parts.m - 1.0;
  const Real square = f * f;
  Real small = (f * square) * polynomial(f, known::log_single);
  small = muladd(square, -0.5, small);
  switch (op) {
  case Op::Log:
    small = muladd(parts.k, known::ln2_single[1], small);
    return muladd(parts.k, known::ln2_single[0], f + small);
  case Op::Log2:
    return muladd(f + small, known::log2_e_double[0], parts.k);
  default:
    small = muladd(parts.k, known::log10_2_single[1], (f + small) * known::log10_e_double[0]);
    return muladd(parts.k, known::log10_2_single[0], small);
  }
}

} // namespace

Decomposed decompose(Real x, bool may_be_subnormal) {
  const bool single = x.is_single();
  const Mask tiny = x < (single ? 0x1p-126 : 0x1p-1022);
  const double lift = single ? 24 : 54;
  const Real lifted = may_be_subnormal ? select(tiny, x * (single ? 0x1p24 : 0x1p54), x) : x;
  const Bits pattern = bits_of(lifted);
  // Less the pattern of sqrt(1/2), so that the exponent field counts from there; plus a bias that
  // keeps it positive.
  const std::uint64_t half_root = single ? 0x3f3504f3U : 0x3fe6a09e667f3bcdU;
  const std::uint64_t bias = single ? 0x40000000U : 0x4000000000000000U;
  const std::uint64_t field = single ? 0xff800000U : 0xfff0000000000000U;
  const unsigned digits = single ? 23 : 52;
  const Bits moved = (pattern - half_root) + bias;
  // The field as a number: below the digits of 2^digits.
  const Bits integer = (moved >> digits) | (single ? 0x4b000000U : 0x4330000000000000U);
  const double excess = single ? 0x1p23 + 128 : 0x1p52 + 1024;
  Real k = real_of(integer) - excess;
  if (may_be_subnormal) {
    k = k - select(tiny, lift, constant(x, 0.0));
  }
  return {k, real_of(pattern - ((moved & field) - bias))};
}

Real log1p_of_pair(const Pair &a, Real more) {
  const Shifted shifted = one_and(a);
  const Real f = shifted.f.hi;
  const Real k = shifted.k + more;
  const Terms terms = terms_of(f);
  // The derivative of log(1 + f) at f, closely enough.
  const Real low = shifted.f.lo * (1.0 - f * (1.0 - f));
  const Pair first = fast_sum(k * known::ln2_parts[0], f);
  const Pair second = fast_sum(first.hi, -terms.half_square);
  const Real rest = terms.rest + (low + k * known::ln2_parts[1]);
  return with_limits(shifted.all, second.hi + ((first.lo + second.lo) + rest));
}

Real short_log1p(Real a) {
  const Shifted shifted = one_and({a, constant(a, 0.0)});
  const Real natural = short_series(shifted.f.hi);
  return with_limits(shifted.all, natural + shifted.k * known::ln2_double[0]);
}

Real logarithm(Op op, Real x, bool fast) {
  if (op == Op::Log1p) {
    const Real zero = constant(x, 0.0);
    const Real result =
        x.is_single() ? narrowed(short_log1p(widened(x))) : log1p_of_pair({x, zero}, zero);
    return select(x == 0.0, x, result);
  }
  if (!x.is_single()) {
    return with_limits(x, fast ? log_double_fast(op, x) : log_double(op, x));
  }
  if (fast) {
    return with_limits(x, log_single(op, x));
  }
  const Real wide = widened(x);
  return narrowed(with_limits(wide, log_short(op, wide)));
}

} // namespace tilewright::math
