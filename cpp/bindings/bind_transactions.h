// The context manager of Function.transaction().
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

void bind_transactions(pybind11::module_ &module);

} // namespace tilewright
