// One number of any scalar type, with NumPy's meaning for every operation on it; the arithmetic
// under the evaluator. A back end may fold constants with it: the result is the bit pattern that
// the generated code must give (up to the last place of the transcendental functions). Nothing here
// is undefined: integers wrap, casts saturate.
#pragma once

#include "algorithm/expression.h"

namespace tilewright {

/// The payload of a number whose type is known from elsewhere: signed integers in `i`, bool and
/// unsigned ones in `u`, floats of any width in `d` (always a value that the type can hold),
/// complex numbers in `d` and `im`.
struct ScalarValue {
  union {
    std::int64_t i;
    std::uint64_t u = 0;
    double d;
  };
  double im = 0.0;
};

using UnaryFunction = void (*)(const ScalarValue &a, ScalarValue &out);
using BinaryFunction = void (*)(const ScalarValue &a, const ScalarValue &b, ScalarValue &out);

/// The function for a unary operation or a call of one argument on an operand of `type`; the result
/// has the type that the builder of expression.h gives. Throws Error(Internal) for a combination
/// that no builder makes. float16 and bfloat16 compute in float32 and round the result to nearest,
/// ties to even.
UnaryFunction unary_function(Op op, ScalarType type);
/// The same for a binary operation, Arctan2 or MakeComplex on two operands of `type`. Defined
/// beyond NumPy: an integer to a negative power is 0, except for the bases 1 and -1.
BinaryFunction binary_function(Op op, ScalarType type);
/// The conversion of `cast`; see expression.h for what happens outside the target's range.
UnaryFunction cast_function(ScalarType from, ScalarType to);

/// Of float32, x**3 and its like are products in float64, rounded once: of how many factors, if
/// that is quicker than a logarithm. Below 0, of the reciprocal.
constexpr std::optional<int> factors_of_power(double exponent) {
  constexpr int most = 8; // float64 holds these of every float32
  for (int factors = 2; factors <= most; ++factors) {
    if (exponent == -factors || (exponent == factors && factors > 2)) {
      return exponent < 0 ? -factors : factors;
    }
  }
  return std::nullopt;
}

/// The element at `address` (need not be aligned), and back.
ScalarValue load_value(ScalarType type, const void *address);
void store_value(ScalarType type, void *address, const ScalarValue &value);

/// A constant rounded to `type`.
ScalarValue value_of(const ConstantValue &constant, ScalarType type);

/// A value that carries its type.
struct Scalar {
  ScalarType type;
  ScalarValue value;
};

Scalar make_scalar(const ConstantValue &constant, ScalarType type);
/// The operation on operands of one type; the result has the type of the expression that the
/// builders make.
Scalar apply(Op op, const Scalar &a);
Scalar apply(Op op, const Scalar &a, const Scalar &b);
Scalar cast(const Scalar &a, ScalarType type);
/// The value as the constant of its type's kind.
ConstantValue constant_value(const Scalar &scalar);

} // namespace tilewright
