#include "bindings/function_type.h"

#include "bindings/called_type.h"
#include "bindings/kernel_call.h"

#include <cstring>

namespace tilewright {

namespace py = pybind11;

namespace {

/// The C++ object inside an instance of _core.Function or of a class derived from it.
KernelFunction *kernel_function(PyObject *self) {
  auto *instance = reinterpret_cast<py::detail::instance *>(self);
  if (instance->simple_layout) {
    return static_cast<KernelFunction *>(instance->simple_value_holder[0]);
  }
  return py::handle(self).cast<KernelFunction *>();
}

constexpr const char *not_initialised =
    "this function was not initialised; make functions with tw.function(...)";

/// tp_getattro: an object whose __init__ failed or was not called has no attributes of ours, though
/// debuggers and error reports ask it for its repr.
PyObject *function_attribute(PyObject *self, PyObject *name) {
  const auto *instance = reinterpret_cast<py::detail::instance *>(self);
  if (instance->simple_layout && instance->simple_value_holder[0] == nullptr) {
    const char *text = PyUnicode_AsUTF8(name);
    if (text == nullptr) {
      return nullptr;
    }
    if (std::strncmp(text, "__", 2) != 0) {
      PyErr_SetString(PyExc_AttributeError, not_initialised);
      return nullptr;
    }
  }
  return PyObject_GenericGetAttr(self, name);
}

PyObject *call_with(PyObject *self, const CallArguments &given) {
  KernelFunction *function = kernel_function(self);
  if (function == nullptr) {
    PyErr_SetString(PyExc_TypeError, not_initialised);
    return nullptr;
  }
  return function->call(given).release().ptr();
}

using FunctionType = CalledType<call_with>;

} // namespace

void set_up_function_type(PyHeapTypeObject *heap_type) {
  PyTypeObject &type = heap_type->ht_type;
  FunctionType::set_up(type);
  type.tp_getattro = function_attribute;
}

void answer_vectorcalls(const py::type &type) { FunctionType::answer(type); }

} // namespace tilewright
