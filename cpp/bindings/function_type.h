// The slots of the type _core.Function, by which a call goes straight to C++, without a tuple or a
// dict of its arguments (PEP 590).
#pragma once

#include <pybind11/pybind11.h>

namespace tilewright {

/// For py::custom_type_setup.
void set_up_function_type(PyHeapTypeObject *heap_type);

/// Makes a class derived in Python answer calls like its base. Throws TypeError where it has a
/// __call__ of its own.
void answer_vectorcalls(const pybind11::type &type);

} // namespace tilewright
