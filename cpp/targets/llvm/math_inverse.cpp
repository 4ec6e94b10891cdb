// arctan, arctan2, arcsin and arccos. The arctangent of a quotient n/d is a multiple of pi/4 and
// the arctangent of n/d, (n - d)/(n + d) or -d/n, whichever is below tan(pi/8); numerator,
// denominator and quotient are pairs. arcsin beyond 1/2 is pi/2 - 2 arcsin(sqrt((1 - x)/2)).
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"
#include "targets/llvm/math_steps.h"

#include <limits>

namespace tilewright::math {

namespace {

using namespace lanes;
namespace known = math_coefficients;

constexpr double tan_eighth = 0x1.a827999fcef32p-2; // tan(pi/8)

Pair select_pair(Mask condition, const Pair &then, const Pair &otherwise) {
  return {select(condition, then.hi, otherwise.hi), select(condition, then.lo, otherwise.lo)};
}

Pair constant_pair(Real like, double scale) {
  return {constant(like, scale * known::half_pi_double[0]),
          constant(like, scale * known::half_pi_double[1])};
}

/// arctan(n / d) of 0 <= n <= d, d > 0, neither near the ends of the range, as a sum of two.
Pair arctan_of_quotient(Real n, Real d) {
  const Mask middle = n > d * tan_eighth;
  const Real zero = constant(n, 0.0);
  const Pair above = select_pair(middle, sum(n, -d), {n, zero});
  const Pair below = select_pair(middle, sum(d, n), {d, zero});
  const Pair u = quotient(above, below);
  const Real z = u.hi * u.hi;
  const Real low = u.lo + u.hi * (z * polynomial(z, known::atan_tail));
  const Pair offset = select_pair(middle, constant_pair(n, 0.5), {zero, zero});
  const Pair head = fast_sum(offset.hi, u.hi);
  return {head.hi, head.lo + (offset.lo + low)};
}

Real arctan_of_quotient_short(Real n, Real d) {
  const Mask middle = n > d * tan_eighth;
  const Real u = select(middle, n - d, n) / select(middle, n + d, d);
  const Real z = u * u;
  const Real value = u + u * (z * polynomial(z, known::atan_short));
  return value + select(middle, 0.5 * known::half_pi_double[0], constant(n, 0.0));
}

/// turn - angle where `condition`, else angle; `turn` is a multiple of pi/2.
Pair reflected(Mask condition, double quarter_turns, const Pair &angle) {
  const Pair turn = constant_pair(angle.hi, quarter_turns);
  const Pair head = fast_sum(turn.hi, -angle.hi);
  return select_pair(condition, {head.hi, head.lo + (turn.lo - angle.lo)}, angle);
}

Real arctan(Real x, bool was_single) {
  // Beyond 2^60 it is pi/2.
  const Real size = clamp(magnitude(x), 0.0, 0x1p60);
  const Real one = constant(x, 1.0);
  const Mask large = size > 1.0;
  const Real n = select(large, one, size);
  const Real d = select(large, size, one);
  if (was_single) {
    const Real angle = arctan_of_quotient_short(n, d);
    return with_sign(select(large, known::half_pi_double[0] - angle, angle), x);
  }
  const Pair angle = reflected(large, 1.0, arctan_of_quotient(n, d));
  return with_sign(angle.hi + angle.lo, x);
}

Real arctan2(Real y, Real x, bool was_single) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Real y_size = magnitude(y);
  const Real x_size = magnitude(x);
  const Mask steep = y_size > x_size;
  Real n = select(steep, x_size, y_size);
  Real d = select(steep, y_size, x_size);
  // Infinite: the quotient is 1 or 0. Both zero: 0 / 1.
  const Mask unbounded = d == infinity;
  n = select(unbounded, select(n == infinity, 1.0, constant(n, 0.0)), n);
  d = select(unbounded | (d == 0.0), 1.0, d);
  const Mask left = ~is_zero(sign_bit(x));
  Real result = x;
  if (was_single) {
    Real angle = arctan_of_quotient_short(n, d);
    angle = select(steep, known::half_pi_double[0] - angle, angle);
    result = select(left, 2.0 * known::half_pi_double[0] - angle, angle);
  } else {
    // Away from the ends of the range, where products would lose their low parts.
    // A quotient below 2^-100 is its own arctangent, and nothing beside pi/2.
    const Mask tiny = n < d * 0x1p-100;
    const Real scale =
        select(d > 0x1p500, 0x1p-600, select(d < 0x1p-400, 0x1p600, constant(d, 1.0)));
    const Pair first = arctan_of_quotient(select(tiny, 0.0, n * scale), d * scale);
    const Pair angle = reflected(left, 2.0, reflected(steep, 1.0, first));
    result = select(tiny & ~steep & ~left, n / d, angle.hi + angle.lo);
  }
  return select(is_nan(x) | is_nan(y), x + y, with_sign(result, y));
}

Real arcsin_or_arccos(Op op, Real x, bool was_single) {
  const Real size = magnitude(x);
  const Mask outer = size > 0.5;
  const Real half_rest = 0.5 - 0.5 * size; // exact
  const Real z = select(outer, half_rest, x * x);
  const Real tail =
      z * (was_single ? polynomial(z, known::asin_short) : polynomial(z, known::asin_tail));
  const Real zero = constant(x, 0.0);
  const Pair s = square_root({select(outer, half_rest, zero), zero});
  // arcsin of the root, doubled, and of |x|: each head + rest
  const Real twice = s.hi + s.hi;
  const Real rest = 2.0 * (s.lo + s.hi * tail);
  if (op == Op::Arcsin) {
    const Pair turn = constant_pair(x, 1.0);
    const Pair head = fast_sum(turn.hi, -twice);
    const Real far = head.hi + (head.lo + (turn.lo - rest));
    return with_sign(select(outer, far, size + size * tail), x);
  }
  const Real inner_rest = x * tail;
  const Pair turn = select_pair(outer, constant_pair(x, 2.0), constant_pair(x, 1.0));
  const Pair head = fast_sum(turn.hi, -select(outer, twice, x));
  const Real far = head.hi + (head.lo + (turn.lo - select(outer, rest, inner_rest)));
  return select(outer & (x > 0.0), twice + rest, far);
}

} // namespace

Real inverse(Op op, const std::vector<Real> &arguments) {
  const bool single = arguments[0].is_single();
  std::vector<Real> wide;
  for (const Real argument : arguments) {
    wide.push_back(single ? widened(argument) : argument);
  }
  Real result = wide[0];
  switch (op) {
  case Op::Arctan:
    result = arctan(wide[0], single);
    break;
  case Op::Arctan2:
    result = arctan2(wide[0], wide[1], single);
    break;
  default:
    result = arcsin_or_arccos(op, wide[0], single);
    break;
  }
  return single ? narrowed(result) : result;
}

} // namespace tilewright::math
