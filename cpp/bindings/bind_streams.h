// What streams ask of declarations: which elements are read, and expressions that read others.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

/// read_relations, computed_parts and with_producers.
void bind_streams(pybind11::module_ &module);

} // namespace tilewright
