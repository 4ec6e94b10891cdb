#include "algorithm/float_ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// As the type rounds it: the operations of IEEE arithmetic never decrease where the exact ones do
/// not. Of two bytes, a bit wider.
FloatRange rounded(FloatRange range, ScalarType type) {
  if (type.bits == 32) {
    range.lo = static_cast<double>(static_cast<float>(range.lo));
    range.hi = static_cast<double>(static_cast<float>(range.hi));
  } else if (type.bits == 16) {
    const double part = type.kind == TypeKind::BFloat ? 0x1p-7 : 0x1p-10;
    range.lo -= std::abs(range.lo) * part + 1e-7;
    range.hi += std::abs(range.hi) * part + 1e-7;
    const double largest = type.kind == TypeKind::BFloat ? 3e38 : 6e4;
    range.lo = range.lo < -largest ? -infinity : range.lo;
    range.hi = range.hi > largest ? infinity : range.hi;
  }
  return range;
}

/// A function of which implementations differ in their last digits.
FloatRange approximate(FloatRange range, ScalarType type) {
  const double part = type.bits == 64 ? 0x1p-46 : 0x1p-18;
  range.lo -= std::abs(range.lo) * part;
  range.hi += std::abs(range.hi) * part;
  return rounded(range, type);
}

bool is_finite(const FloatRange &range) {
  return std::isfinite(range.lo) && std::isfinite(range.hi);
}

FloatRange of_corners(const FloatRange &a, const FloatRange &b,
                      double (*function)(double, double)) {
  FloatRange result{infinity, -infinity, a.may_be_nan || b.may_be_nan};
  for (const double x : {a.lo, a.hi}) {
    for (const double y : {b.lo, b.hi}) {
      const double value = function(x, y);
      if (std::isnan(value)) {
        return any_float();
      }
      result.lo = std::min(result.lo, value);
      result.hi = std::max(result.hi, value);
    }
  }
  return result;
}

FloatRange product(const FloatRange &a, const FloatRange &b) {
  if (!is_finite(a) || !is_finite(b)) {
    return any_float(); // 0 times infinity may be within
  }
  return of_corners(a, b, [](double x, double y) { return x * y; });
}

FloatRange quotient(const FloatRange &a, const FloatRange &b) {
  const bool has_zero = b.lo <= 0 && b.hi >= 0;
  if (has_zero || (!is_finite(a) && !is_finite(b))) {
    return any_float();
  }
  return of_corners(a, b, [](double x, double y) { return x / y; });
}

/// Of one that never decreases, exact for numbers of the type.
FloatRange monotone(const FloatRange &a, double (*function)(double)) {
  return {function(a.lo), function(a.hi), a.may_be_nan};
}

FloatRange absolute(const FloatRange &a) {
  const double largest = std::max(std::abs(a.lo), std::abs(a.hi));
  const double least = a.lo <= 0 && a.hi >= 0 ? 0 : std::min(std::abs(a.lo), std::abs(a.hi));
  return {least, largest, a.may_be_nan};
}

/// fmin and fmax: the other value where one is NaN.
FloatRange of_numbers(FloatRange chosen, const FloatRange &a, const FloatRange &b) {
  chosen.may_be_nan = a.may_be_nan && b.may_be_nan;
  if (a.may_be_nan) {
    chosen.lo = std::min(chosen.lo, b.lo);
    chosen.hi = std::max(chosen.hi, b.hi);
  }
  if (b.may_be_nan) {
    chosen.lo = std::min(chosen.lo, a.lo);
    chosen.hi = std::max(chosen.hi, a.hi);
  }
  return chosen;
}

FloatRange smaller(const FloatRange &a, const FloatRange &b) {
  return {std::min(a.lo, b.lo), std::min(a.hi, b.hi), a.may_be_nan || b.may_be_nan};
}

FloatRange larger(const FloatRange &a, const FloatRange &b) {
  return {std::max(a.lo, b.lo), std::max(a.hi, b.hi), a.may_be_nan || b.may_be_nan};
}

/// a % b, which has the sign of b, or the sign of a.
FloatRange remainder_of(const FloatRange &a, const FloatRange &b, bool of_dividend) {
  const bool has_zero = b.lo <= 0 && b.hi >= 0;
  const double largest = std::max(std::abs(b.lo), std::abs(b.hi));
  const FloatRange &sign = of_dividend ? a : b;
  return {sign.lo < 0 ? -largest : 0, sign.hi > 0 ? largest : 0,
          a.may_be_nan || b.may_be_nan || has_zero || !is_finite(a)};
}

/// A sum, as far from the exact one as arithmetic in another order (fast_math) may bring it.
FloatRange sum(const FloatRange &a, const FloatRange &b, ScalarType type) {
  FloatRange result = of_corners(a, b, [](double x, double y) { return x + y; });
  if (is_finite(a) && is_finite(b)) {
    const double part = type.bits == 64 ? 0x1p-46 : 0x1p-18;
    const double largest =
        std::max({std::abs(a.lo), std::abs(a.hi), std::abs(b.lo), std::abs(b.hi)});
    result.lo -= part * largest;
    result.hi += part * largest;
  }
  return rounded(result, type);
}

FloatRange bounded(double lo, double hi, const FloatRange &a, bool of_infinity) {
  return {lo, hi, a.may_be_nan || (!of_infinity && !is_finite(a))};
}

} // namespace

FloatRange any_float() { return {-infinity, infinity, true}; }

FloatRange either(const FloatRange &a, const FloatRange &b) {
  return {std::min(a.lo, b.lo), std::max(a.hi, b.hi), a.may_be_nan || b.may_be_nan};
}

FloatRange range_of(Op op, ScalarType type, const std::vector<FloatRange> &operands) {
  const FloatRange &a = operands.front();
  const FloatRange &b = operands.back();
  switch (op) {
  case Op::Neg:
    return {-a.hi, -a.lo, a.may_be_nan};
  case Op::Abs:
    return absolute(a);
  case Op::Min:
    return smaller(a, b);
  case Op::Max:
    return larger(a, b);
  case Op::Fmin:
    return of_numbers(smaller(a, b), a, b);
  case Op::Fmax:
    return of_numbers(larger(a, b), a, b);
  case Op::Floor:
    return monotone(a, [](double x) { return std::floor(x); });
  case Op::Ceil:
    return monotone(a, [](double x) { return std::ceil(x); });
  case Op::Trunc:
    return monotone(a, [](double x) { return std::trunc(x); });
  case Op::Rint:
    return monotone(a, [](double x) { return std::rint(x); });
  case Op::Sign:
    return {-1, 1, a.may_be_nan};
  case Op::Add:
    return sum(a, b, type);
  case Op::Sub:
    return sum(a, {-b.hi, -b.lo, b.may_be_nan}, type);
  case Op::Mul:
    return approximate(product(a, b), type);
  case Op::TrueDiv:
    return approximate(quotient(a, b), type);
  case Op::Mod:
    return rounded(remainder_of(a, b, false), type);
  case Op::Fmod:
    return rounded(remainder_of(a, b, true), type);
  case Op::Sin:
  case Op::Cos:
    return approximate(bounded(-1, 1, a, false), type);
  case Op::Tanh:
  case Op::Erf:
    return approximate(bounded(-1, 1, a, true), type);
  case Op::Arctan:
    return approximate(bounded(-1.6, 1.6, a, true), type);
  case Op::Arctan2:
    return approximate({-3.2, 3.2, a.may_be_nan || b.may_be_nan}, type);
  case Op::Exp:
  case Op::Exp2:
    return approximate(bounded(0, infinity, a, true), type);
  case Op::Sqrt:
    return rounded({0, a.hi > 0 ? std::sqrt(a.hi) : 0, a.may_be_nan || a.lo < 0}, type);
  default:
    return any_float();
  }
}

FloatRange restricted(const FloatRange &value, Op op, const FloatRange &bound) {
  FloatRange result = value;
  switch (op) {
  case Op::Lt:
  case Op::Le:
    result = {value.lo, std::min(value.hi, bound.hi), false};
    break;
  case Op::Gt:
  case Op::Ge:
    result = {std::max(value.lo, bound.lo), value.hi, false};
    break;
  case Op::Eq:
    result = {std::max(value.lo, bound.lo), std::min(value.hi, bound.hi), false};
    break;
  default:
    return value;
  }
  return result.lo <= result.hi ? result : value;
}

} // namespace tilewright
