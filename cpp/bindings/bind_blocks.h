// Blocks as Python declares them (algorithm/block.h), and calls of Python's functions from kernels.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

void bind_blocks(pybind11::module_ &module);

} // namespace tilewright
