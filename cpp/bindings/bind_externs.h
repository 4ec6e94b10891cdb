// Functions of C as Python declares them (algorithm/extern_function.h): `_core.Extern`.
#pragma once

#include "algorithm/extern_function.h"

#include <pybind11/pybind11.h>

namespace tilewright {

/// As Python holds it.
struct ExternHandle {
  ExternPtr function;
};

void bind_externs(pybind11::module_ &module);

} // namespace tilewright
