// What the binding files share: the opaque handle of an expression and the conversions of types,
// locations and operands. Python's classes (Expression, Computation) hold these handles; nothing
// here knows a rule of the language.
#pragma once

#include "algorithm/expression.h"

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

namespace tilewright {

/// An expression as Python holds it: `_core.Expr`. Expressions are immutable, so handles are freely
/// shared.
struct ExprHandle {
  ExprPtr expr;
};

/// An expression, or a bool, int, float or complex number (exactly these).
Operand to_operand(const pybind11::handle &value);

/// A source location from None or a (file, line, text) tuple.
SourceLocation to_location(const pybind11::handle &where);

/// A type from its NumPy name; Error(Type) for a name that is not one of ours.
ScalarType to_type(const std::string &name);

/// The expressions of a Python sequence of `_core.Expr` handles.
std::vector<ExprPtr> to_expressions(const std::vector<ExprHandle> &handles);

/// Types, expressions, inputs and computations.
void bind_language(pybind11::module_ &module);

} // namespace tilewright
