// What declarations ask besides their pieces: views, and conditions on data.
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

/// make_view, phi, conjuncts and is_affine_condition.
void bind_views(pybind11::module_ &module);

} // namespace tilewright
