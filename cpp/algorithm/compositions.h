// Operations that are written in terms of others when an expression is built, so that neither the
// evaluator nor a target knows them: what is as exact by steps that are there already.
#pragma once

#include "algorithm/expression.h"

#include <vector>

namespace tilewright {

/// A composed operation on operands that call() has brought to their type and checked, but for
/// those that operations.def calls Free.
ExprPtr compose(Op op, const std::vector<Operand> &operands);

/// z / abs(z) of complex numbers, with NumPy's values at 0 and where a part is infinite or NaN.
ExprPtr complex_sign(const ExprPtr &z);

} // namespace tilewright
