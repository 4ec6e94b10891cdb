// Dependences between instances at concrete sizes, and the names of the commands: what pictures and
// the reference page are made of. Nothing that a schedule depends on.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

/// _core.instances_at(function, sizes), _core.dependences_at(function, sizes),
/// _core.command_names().
void bind_instances(pybind11::module_ &module);

} // namespace tilewright
