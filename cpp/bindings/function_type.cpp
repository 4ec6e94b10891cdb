#include "bindings/function_type.h"

#include "bindings/guarded.h"
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

/// f(a, b, out=c) without a tuple or a dict of the arguments (PEP 590).
PyObject *vectorcall_function(PyObject *self, PyObject *const *values, size_t count,
                              PyObject *names) {
  return guarded([&] {
    return call_with(self, {values, static_cast<size_t>(PyVectorcall_NARGS(count)), names});
  });
}

/// tp_call: where a class derived in Python has a __call__ of its own.
PyObject *call_function(PyObject *self, PyObject *arguments, PyObject *keywords) {
  return guarded([&] {
    const GatheredArguments gathered(arguments, keywords);
    return call_with(self, gathered.arguments());
  });
}

/// Where instances keep the address of vectorcall_function: behind what pybind11 keeps.
constexpr Py_ssize_t vectorcall_offset = sizeof(py::detail::instance);

PyObject *new_function(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
  PyObject *self = py::detail::pybind11_object_new(type, arguments, keywords);
  if (self != nullptr) {
    *reinterpret_cast<vectorcallfunc *>(reinterpret_cast<char *>(self) + vectorcall_offset) =
        vectorcall_function;
  }
  return self;
}

} // namespace

void set_up_function_type(PyHeapTypeObject *heap_type) {
  PyTypeObject &type = heap_type->ht_type;
  type.tp_call = call_function;
  type.tp_getattro = function_attribute;
  type.tp_new = new_function;
  type.tp_basicsize = vectorcall_offset + static_cast<Py_ssize_t>(sizeof(vectorcallfunc));
  type.tp_vectorcall_offset = vectorcall_offset;
  type.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
}

// Before Python 3.12, classes derived in Python do not take this over by themselves.
void answer_vectorcalls(const py::type &type) {
  auto *derived = reinterpret_cast<PyTypeObject *>(type.ptr());
  if (derived->tp_call != call_function) {
    throw py::type_error("this class has a __call__ of its own");
  }
  derived->tp_vectorcall_offset = vectorcall_offset;
  derived->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  PyType_Modified(derived);
}

} // namespace tilewright
