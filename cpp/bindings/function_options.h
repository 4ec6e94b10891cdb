// _core.Options: what a person chooses for a function beside its schedule, as one value. It is made
// where a function is declared, and goes with it into copies and pickles.
#pragma once

#include "compiler/compiler.h"

#include <pybind11/pybind11.h>

#include <string>

namespace tilewright {

/// "cpu", "gpu-emulator", "cuda": where loops over blocks and threads run. Throws Error(Argument)
/// for other words.
GpuTarget to_gpu_target(const std::string &name);
std::string target_text(const GpuTarget &target);

void bind_options(pybind11::module_ &module);

} // namespace tilewright
