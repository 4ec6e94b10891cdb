#include "targets/scalar_oracle.h"

#include "algorithm/scalar.h"

namespace tilewright {

void oracle_unary(Op op, ScalarType type, const void *a, ScalarType result, void *out) {
  store_value(result, out, apply(op, {type, load_value(type, a)}).value);
}

void oracle_binary(Op op, ScalarType type, const void *a, const void *b, ScalarType result,
                   void *out) {
  store_value(result, out,
              apply(op, {type, load_value(type, a)}, {type, load_value(type, b)}).value);
}

void oracle_cast(ScalarType from, const void *a, ScalarType to, void *out) {
  store_value(to, out, cast(Scalar{from, load_value(from, a)}, to).value);
}

std::complex<double> oracle_number(ScalarType type, const void *element) {
  const auto number = load_value(type, element);
  switch (type.kind) {
  case TypeKind::Bool:
  case TypeKind::UInt:
    return static_cast<double>(number.u);
  case TypeKind::Int:
    return static_cast<double>(number.i);
  case TypeKind::Complex:
    return {number.d, number.im};
  default:
    return number.d;
  }
}

void oracle_constant(const ConstantValue &constant, ScalarType type, void *out) {
  store_value(type, out, value_of(constant, type));
}

} // namespace tilewright
