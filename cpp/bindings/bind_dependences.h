// The dependences of a scheduled function, and what each loop does for them, as plain data.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

void bind_dependences(pybind11::module_ &module);

} // namespace tilewright
