// The scalar arithmetic of Layer I (algorithm/scalar.h) on bytes in memory: what compiled code must
// agree with.
#pragma once

#include "algorithm/expression.h"

namespace tilewright {

/// Stores the result of the unary operation or one-argument call; its type is `result`.
void oracle_unary(Op op, ScalarType type, const void *a, ScalarType result, void *out);
void oracle_binary(Op op, ScalarType type, const void *a, const void *b, ScalarType result,
                   void *out);
void oracle_cast(ScalarType from, const void *a, ScalarType to, void *out);
/// The element as a complex number, for comparisons with a tolerance.
std::complex<double> oracle_number(ScalarType type, const void *element);
void oracle_constant(const ConstantValue &constant, ScalarType type, void *out);

} // namespace tilewright
