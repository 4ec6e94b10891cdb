// sinh, cosh and tanh of the pieces of exp, and their inverses of log1p of a sum that is kept in
// two numbers. float32 runs in float64 and is rounded at the end.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"
#include "targets/llvm/math_steps.h"

#include <llvm/IR/Intrinsics.h>

#include <limits>

namespace tilewright::math {

using namespace lanes;
namespace known = math_coefficients;

namespace {

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
  const Real grown = exponential_single(clamp(size + size, 0.0, 20.0), true);
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

// ---- inverses: log(1 + a) with a = x + x^2 / (1 + sqrt(x^2 + 1)), x - 1 + sqrt(x^2 - 1) or
// 2 x / (1 - x), the last one halved. From 2^60 on the roots are x itself, and 1 is nothing beside
// it: the logarithm of 2 x, which may be beyond the range, is that of x and one more in its
// exponent. ----

constexpr double far = 0x1p60;

Pair added(const Pair &a, const Pair &b) {
  const Pair head = sum(a.hi, b.hi);
  return fast_sum(head.hi, head.lo + (a.lo + b.lo));
}

Pair arcsinh_argument(Real size) {
  const Pair square = product(size, size);
  const Pair root = square_root(added({constant(size, 1.0), constant(size, 0.0)}, square));
  const Pair below = added({constant(size, 1.0), constant(size, 0.0)}, root);
  return added({size, constant(size, 0.0)}, quotient(square, below));
}

Pair arccosh_argument(Real x) {
  const Real rest = x - 1.0; // exact, as is its double
  const Pair root = square_root(added({rest + rest, constant(x, 0.0)}, product(rest, rest)));
  return added({rest, constant(x, 0.0)}, root);
}

Real area_double(Op op, Real x) {
  const Real size = magnitude(x);
  const Real zero = constant(x, 0.0);
  if (op == Op::Arctanh) {
    const Pair below = sum(constant(x, 1.0), -size);
    return 0.5 * log1p_of_pair(quotient({size + size, zero}, below), zero);
  }
  const Mask large = size > far;
  const Real held = select(large, 1.0, size);
  const Pair argument = op == Op::Arcsinh ? arcsinh_argument(held) : arccosh_argument(held);
  const Pair near = {select(large, size, argument.hi), select(large, 0.0, argument.lo)};
  return log1p_of_pair(near, select(large, 1.0, zero));
}

Real root_of(Real square) {
  return real(square, at(square).CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, square.value));
}

/// The same arguments in one number.
Real short_argument(Op op, Real size) {
  if (op == Op::Arccosh) {
    const Real rest = size - 1.0;
    return rest + root_of(rest * (rest + 2.0));
  }
  const Real square = size * size;
  return size + square / (root_of(square + 1.0) + 1.0);
}

/// Of float64 that were float32, whose squares stay in range.
Real area_of_single(Op op, Real x) {
  const Real size = magnitude(x);
  return op == Op::Arctanh ? 0.5 * short_log1p((size + size) / (1.0 - size))
                           : short_log1p(short_argument(op, size));
}

Real area_double_fast(Op op, Real x) {
  const Real size = magnitude(x);
  const Real zero = constant(x, 0.0);
  if (op == Op::Arctanh) {
    return 0.5 * log1p_of_pair({(size + size) / (1.0 - size), zero}, zero);
  }
  const Mask large = size > far;
  const Real argument = short_argument(op, select(large, 1.0, size));
  return log1p_of_pair({select(large, size, argument), zero}, select(large, 1.0, zero));
}

/// Puts the values at infinity and outside the domain in, and the sign.
Real with_ends(Op op, Real x, Real result) {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  switch (op) {
  case Op::Arcsinh:
    return with_sign(select(magnitude(x) == infinity, x, result), x);
  case Op::Arccosh:
    return select(x < 1.0, nan, select(x == infinity, x, result));
  default:
    result = select(magnitude(x) == 1.0, infinity, result);
    return with_sign(select(magnitude(x) > 1.0, nan, result), x);
  }
}

} // namespace

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

Real inverse_hyperbolic(Op op, Real x, bool fast) {
  if (x.is_single()) {
    const Real wide = widened(x);
    return narrowed(with_ends(op, wide, area_of_single(op, wide)));
  }
  return with_ends(op, x, fast ? area_double_fast(op, x) : area_double(op, x));
}

} // namespace tilewright::math
