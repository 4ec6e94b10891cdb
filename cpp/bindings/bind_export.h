// _core.export_function, _core.exported_runtime, _core.static_library: the bytes from which
// tilewright/exporting.py makes files.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

void bind_export(pybind11::module_ &module);

} // namespace tilewright
