// The planner's schedules and the bands that they come from, as plain data.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

void bind_automatic(pybind11::module_ &module);

} // namespace tilewright
