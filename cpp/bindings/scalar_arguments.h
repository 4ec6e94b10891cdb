// Plain Python numbers for inputs without axes: converted to the input's element type as NumPy
// converts its weak scalars (NEP 50). What does not fit is an overflow, never another value.
#pragma once

#include "algorithm/type.h"

#include <pybind11/pybind11.h>

#include <cstddef>

namespace tilewright {

/// bool, int, float or complex, but no class derived from them (NumPy's scalars have a type of
/// their own and are arrays without axes).
bool is_plain_number(PyObject *object);

enum class NumberFit {
  Fits,
  WrongKind, ///< a float for an integer type, a number for bool, a complex one for a real type
  Overflow   ///< outside the range of the type
};

/// Writes the element to `slot` (at least 16 bytes, aligned to 16).
NumberFit store_number(PyObject *number, ScalarType type, std::byte *slot);

} // namespace tilewright
