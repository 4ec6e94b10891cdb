// _core.Options: what a person chooses for a function beside its schedule, as one value. It is made
// where a function is declared, and goes with it into copies and pickles.
#pragma once

#include "compiler/compiler.h"

#include <pybind11/pybind11.h>

namespace tilewright {

void bind_options(pybind11::module_ &module);

} // namespace tilewright
