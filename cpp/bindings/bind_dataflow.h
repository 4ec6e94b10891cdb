// Memory programs and their exact dataflow, for the doors that translate programs over memory.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

void bind_dataflow(pybind11::module_ &module);

} // namespace tilewright
