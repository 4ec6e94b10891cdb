#include "bindings/bind_errors.h"

#include "polyhedral/error.h"

#include <pybind11/pybind11.h>

#include <exception>
#include <string>

namespace py = pybind11;

namespace tilewright {

namespace {

const char *kind_name(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::Type:
    return "type";
  case ErrorKind::Declaration:
    return "declaration";
  case ErrorKind::Bounds:
    return "bounds";
  case ErrorKind::Cycle:
    return "cycle";
  case ErrorKind::Schedule:
    return "schedule";
  case ErrorKind::IllegalSchedule:
    return "illegal_schedule";
  case ErrorKind::Limit:
    return "limit";
  case ErrorKind::Index:
    return "index";
  case ErrorKind::Argument:
    return "argument";
  case ErrorKind::Internal:
    break;
  }
  return "internal";
}

/// Sets the Python error; a failure on the way (the interpreter is shutting down) leaves a plain
/// RuntimeError.
void raise_in_python(const Error &error) {
  try {
    py::dict details;
    for (const auto &[name, value] : error.details) {
      details[py::str(name)] = value;
    }
    py::object where = py::none();
    if (error.where.known()) {
      where = py::make_tuple(error.where.file, error.where.line, error.where.text);
    }
    const py::object make = py::module_::import("tilewright.errors").attr("_make_error");
    const py::object exception = make(kind_name(error.kind), error.what(), where, details);
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
  } catch (const py::error_already_set &) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
}

} // namespace

void bind_errors(py::module_ &) {
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) {
        std::rethrow_exception(pointer);
      }
    } catch (const Error &error) {
      raise_in_python(error);
    }
  });
}

} // namespace tilewright
