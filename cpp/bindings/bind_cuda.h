// Devices, streams, events and device arrays for Python: what tilewright.cuda and tw.DeviceArray
// are made of.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

void bind_cuda(pybind11::module_ &module);

} // namespace tilewright
