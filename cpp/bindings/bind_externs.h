// Functions of C as Python declares them (algorithm/extern_function.h): `_core.Extern`.
#pragma once

#include "algorithm/extern_function.h"

#include <pybind11/pybind11.h>

namespace tilewright {

/// As Python holds it.
struct ExternHandle {
  ExternPtr function;
};

/// A Python object that any thread may be the last to need, with Python's lock or without it.
std::shared_ptr<void> kept(const pybind11::object &object);
pybind11::object from_value(ScalarType type, const ScalarValue &value);

void bind_externs(pybind11::module_ &module);

} // namespace tilewright
