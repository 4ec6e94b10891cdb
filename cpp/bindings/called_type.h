// The slots of a type whose objects are called, by which a call goes straight to C++ without a
// tuple or a dict of its arguments (PEP 590).
#pragma once

#include "bindings/call_arguments.h"
#include "bindings/guarded.h"

#include <pybind11/pybind11.h>

namespace tilewright {

/// `call_with` makes the call, with the GIL; it may throw, or set Python's error and give null.
template <PyObject *(*call_with)(PyObject *, const CallArguments &)>
class CalledType {
public:
  /// For py::custom_type_setup.
  static void set_up(PyTypeObject &type) {
    type.tp_call = call;
    type.tp_new = make;
    type.tp_basicsize = vectorcall_offset + static_cast<Py_ssize_t>(sizeof(vectorcallfunc));
    type.tp_vectorcall_offset = vectorcall_offset;
    type.tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  }

  /// Makes a class derived in Python answer calls like its base, which it does not before Python
  /// 3.12. Throws TypeError where it has a __call__ of its own.
  static void answer(const pybind11::type &type) {
    auto *derived = reinterpret_cast<PyTypeObject *>(type.ptr());
    if (derived->tp_call != call) {
      throw pybind11::type_error("this class has a __call__ of its own");
    }
    derived->tp_vectorcall_offset = vectorcall_offset;
    derived->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    PyType_Modified(derived);
  }

private:
  /// Where instances keep the address of `vectorcall`: behind what pybind11 keeps.
  static constexpr Py_ssize_t vectorcall_offset = sizeof(pybind11::detail::instance);

  static PyObject *vectorcall(PyObject *self, PyObject *const *values, size_t count,
                              PyObject *names) {
    return guarded([&] {
      return call_with(self,
                       {values, static_cast<size_t>(PyVectorcall_NARGS(count)), names, nullptr});
    });
  }

  /// tp_call: where a class derived in Python has a __call__ of its own.
  static PyObject *call(PyObject *self, PyObject *arguments, PyObject *keywords) {
    return guarded([&] {
      const GatheredArguments gathered(arguments, keywords);
      return call_with(self, gathered.arguments());
    });
  }

  static PyObject *make(PyTypeObject *type, PyObject *arguments, PyObject *keywords) {
    PyObject *self = pybind11::detail::pybind11_object_new(type, arguments, keywords);
    if (self != nullptr) {
      *reinterpret_cast<vectorcallfunc *>(reinterpret_cast<char *>(self) + vectorcall_offset) =
          vectorcall;
    }
    return self;
  }
};

} // namespace tilewright
