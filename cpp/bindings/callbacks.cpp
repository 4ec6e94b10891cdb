#include "bindings/callbacks.h"

namespace py = pybind11;

namespace tilewright {

namespace {

/// What was registered; null before. Never released: an error may be raised while the interpreter
/// shuts down, when static objects must not be destroyed any more.
struct Callbacks {
  PyObject *make_error = nullptr;
  PyObject *compiled = nullptr;
  PyObject *copied = nullptr;
};

Callbacks &callbacks() {
  static Callbacks registered;
  return registered;
}

void replace(PyObject *&place, const py::object &callback) {
  PyObject *before = place;
  place = callback.is_none() ? nullptr : py::object(callback).release().ptr();
  Py_XDECREF(before);
}

} // namespace

py::object make_error(const char *kind, const std::string &message, const py::object &where,
                      const py::dict &details) {
  // Held during the call: another thread may register another one meanwhile.
  const auto make = py::reinterpret_borrow<py::object>(callbacks().make_error);
  if (!make) {
    return py::handle(PyExc_RuntimeError)(message);
  }
  return make(kind, message, where, details);
}

void note_compiled(const std::string &function, const py::object &info,
                   const py::bytes &cache_problem) {
  const auto note = py::reinterpret_borrow<py::object>(callbacks().compiled);
  if (note) {
    note(function, info, cache_problem);
  }
}

void note_copied(const std::string &function, const py::list &arrays, const std::string &device) {
  const auto note = py::reinterpret_borrow<py::object>(callbacks().copied);
  if (note) {
    note(function, arrays, device);
  }
}

void bind_callbacks(py::module_ &module) {
  module.def(
      "set_error_factory",
      [](const py::object &factory) { replace(callbacks().make_error, factory); },
      py::arg("factory").none(true),
      "Registers who makes the exception of an error: factory(kind, message, where, details). "
      "None: errors are RuntimeErrors.");
  module.def(
      "set_notices",
      [](const py::object &compiled, const py::object &copied) {
        replace(callbacks().compiled, compiled);
        replace(callbacks().copied, copied);
      },
      py::arg("compiled").none(true), py::arg("copied").none(true),
      "Registers who is told of compilations, compiled(function, info, cache_problem), and of "
      "copies to a device, copied(function, arrays, device). None: nobody.");
}

} // namespace tilewright
