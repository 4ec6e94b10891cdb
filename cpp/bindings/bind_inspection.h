// What tests and fuzzers look at: the scheduled program of a function as plain Python data. It
// promises to show exactly what legality is asked about, and nothing that a schedule may depend on.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

/// _core.describe(function, sizes=None).
void bind_inspection(pybind11::module_ &module);

} // namespace tilewright
