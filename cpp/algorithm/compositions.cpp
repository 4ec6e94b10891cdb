#include "algorithm/compositions.h"

#include "algorithm/expression_nodes.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

namespace tilewright {

using namespace nodes;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Operand number(double value) { return WeakNumber{TypeKind::Float, value}; }
Operand whole(std::int64_t value) { return WeakNumber{TypeKind::Int, value}; }

bool is_exact(ScalarType type) { return type.is_bool() || type.is_integer(); }

/// formula(operands); of float16 and bfloat16 in float32, so that only its result is rounded, and
/// no step overflows.
ExprPtr in_wide_steps(std::vector<ExprPtr> operands,
                      const std::function<ExprPtr(const std::vector<ExprPtr> &)> &formula) {
  const ScalarType type = operands[0]->type;
  if (!type.is_floating() || type.bits != 16) {
    return formula(operands);
  }
  for (ExprPtr &operand : operands) {
    operand = cast(operand, Float32);
  }
  return cast(formula(operands), type);
}

ExprPtr logistic(const ExprPtr &value) {
  const ExprPtr minus = binary(Op::Mul, number(-1.0), value);
  if (minus->type.is_complex()) {
    return binary(Op::TrueDiv, whole(1), binary(Op::Add, whole(1), call(Op::Exp, {minus})));
  }
  // exp(-value) overflows where the function is small and not zero; exp(-|value|) does nowhere.
  const ExprPtr decayed = call(Op::Exp, {unary(Op::Neg, unary(Op::Abs, minus))});
  const ExprPtr above = select(binary(Op::Gt, minus, whole(0)), decayed, number(1.0));
  return binary(Op::TrueDiv, above, binary(Op::Add, whole(1), decayed));
}

ExprPtr logaddexp(const ExprPtr &a, const ExprPtr &b) {
  // The difference of equal infinities is NaN, for which fmin puts 0.
  const ExprPtr apart = unary(Op::Neg, unary(Op::Abs, binary(Op::Sub, a, b)));
  const ExprPtr more = call(Op::Log1p, {call(Op::Exp, {call(Op::Fmin, {apart, number(0.0)})})});
  return binary(Op::Add, binary(Op::Max, a, b), more);
}

ExprPtr reciprocal(const ExprPtr &value) {
  const ScalarType type = value->type;
  if (!type.is_integer()) {
    return binary(Op::TrueDiv, whole(1), value);
  }
  const ExprPtr one = cast(binary(Op::Eq, value, whole(1)), type);
  return type.is_signed_integer()
             ? binary(Op::Sub, one, cast(binary(Op::Eq, value, whole(-1)), type))
             : one;
}

ExprPtr absolute_difference(const ExprPtr &a, const ExprPtr &b) {
  const ScalarType type = a->type;
  if (!type.is_integer()) {
    return unary(Op::Abs, binary(Op::Sub, a, b));
  }
  // Modulo 2^bits it is right as an unsigned number.
  return cast(binary(Op::Sub, binary(Op::Max, a, b), binary(Op::Min, a, b)),
              {TypeKind::UInt, type.bits});
}

ExprPtr is_infinite(const ExprPtr &value) {
  if (value->type.is_complex()) {
    return binary(Op::Or, is_infinite(call(Op::Real, {value})),
                  is_infinite(call(Op::Imag, {value})));
  }
  return is_exact(value->type) ? binary(Op::Ne, value, value)
                               : binary(Op::Eq, unary(Op::Abs, value), number(infinity));
}

ExprPtr is_finite(const ExprPtr &value) {
  if (value->type.is_complex()) {
    return binary(Op::And, is_finite(call(Op::Real, {value})), is_finite(call(Op::Imag, {value})));
  }
  return is_exact(value->type) ? binary(Op::Eq, value, value)
                               : binary(Op::Lt, unary(Op::Abs, value), number(infinity));
}

/// NumPy's: the nearest whole number of the value times a power of ten.
ExprPtr rounded(const ExprPtr &value, const Operand &decimals) {
  const ConstantValue *given = nullptr;
  if (const auto *weak = std::get_if<WeakNumber>(&decimals)) {
    given = &weak->value;
  } else if (std::get<ExprPtr>(decimals)->kind == ExprKind::Constant) {
    given = &std::get<ExprPtr>(decimals)->value;
  }
  const std::optional<IntegerValue> digits = given ? as_integer(*given) : std::nullopt;
  constexpr std::uint64_t largest = 300;
  if (!digits || digits->magnitude > largest) {
    refuse("the decimals of 'round' must be a Python integer of at most " +
           std::to_string(largest));
  }
  if (value->type.is_integer()) {
    if (digits->negative) {
      refuse("'round' of integers takes no negative decimals");
    }
    return value;
  }
  if (value->type.is_complex()) {
    refuse("'round' does not take " + type_name(value->type));
  }
  if (digits->magnitude == 0) {
    return call(Op::Rint, {value});
  }
  const Operand power = number(std::pow(10.0, static_cast<double>(digits->magnitude)));
  const Op first = digits->negative ? Op::TrueDiv : Op::Mul;
  const Op last = digits->negative ? Op::Mul : Op::TrueDiv;
  return binary(last, call(Op::Rint, {binary(first, value, power)}), power);
}

ExprPtr truth(const Operand &operand) { return cast(strengthen(operand), Bool); }

} // namespace

ExprPtr complex_sign(const ExprPtr &z) {
  const ExprPtr re = call(Op::Real, {z});
  const ExprPtr im = call(Op::Imag, {z});
  const ExprPtr size = unary(Op::Abs, z);
  const ExprPtr re_infinite = is_infinite(re);
  const ExprPtr im_infinite = is_infinite(im);
  const ExprPtr either = binary(Op::Or, re_infinite, im_infinite);
  // An infinite part counts as 1 beside a finite one; two of them have no direction.
  const auto part = [&](const ExprPtr &value, const ExprPtr &infinite) {
    return select(either, call(Op::Copysign, {cast(infinite, value->type), value}), value);
  };
  const ExprPtr nan = constant(std::numeric_limits<double>::quiet_NaN(), re->type);
  const ExprPtr of_infinite = select(binary(Op::And, re_infinite, im_infinite), nan, number(1.0));
  const ExprPtr finite = select(binary(Op::Eq, size, number(0.0)), number(1.0), size);
  const ExprPtr divisor = select(either, of_infinite, finite);
  return call(Op::MakeComplex, {binary(Op::TrueDiv, part(re, re_infinite), divisor),
                                binary(Op::TrueDiv, part(im, im_infinite), divisor)});
}

ExprPtr compose(Op op, const std::vector<Operand> &operands) {
  const Operand &first = operands[0];
  const auto a = [&] { return std::get<ExprPtr>(first); };
  const auto b = [&] { return std::get<ExprPtr>(operands[1]); };
  const auto wide = [&](const auto &formula) {
    return in_wide_steps({a()}, [&](const auto &x) { return formula(x[0]); });
  };
  constexpr double half_turn = 180.0;
  switch (op) {
  case Op::Rsqrt:
    return wide(
        [](const ExprPtr &x) { return binary(Op::TrueDiv, whole(1), call(Op::Sqrt, {x})); });
  case Op::Sigmoid:
    return wide(logistic);
  case Op::Degrees:
    return wide(
        [](const ExprPtr &x) { return binary(Op::Mul, x, number(half_turn / std::numbers::pi)); });
  case Op::Radians:
    return wide(
        [](const ExprPtr &x) { return binary(Op::Mul, x, number(std::numbers::pi / half_turn)); });
  case Op::Logaddexp:
    return in_wide_steps({a(), b()}, [](const auto &x) { return logaddexp(x[0], x[1]); });
  case Op::Round:
    return rounded(strengthen(first), operands[1]);
  case Op::Clamp:
    return binary(Op::Min, binary(Op::Max, first, operands[1]), operands[2]);
  case Op::Square:
    return binary(Op::Mul, a(), a());
  case Op::Reciprocal:
    return reciprocal(a());
  case Op::AbsoluteDifference:
    return absolute_difference(a(), b());
  case Op::Isinf:
    return is_infinite(a());
  case Op::Isfinite:
    return is_finite(a());
  case Op::LogicalAnd:
    return binary(Op::And, truth(first), truth(operands[1]));
  case Op::LogicalOr:
    return binary(Op::Or, truth(first), truth(operands[1]));
  case Op::LogicalXor:
    return binary(Op::Xor, truth(first), truth(operands[1]));
  case Op::LogicalNot:
    return unary(Op::Not, truth(first));
  default:
    throw Error(ErrorKind::Internal, quoted(op) + " has no composition");
  }
}

} // namespace tilewright
