#include "bindings/bind_errors.h"

#include "bindings/callbacks.h"
#include "bindings/signals.h"
#include "polyhedral/error.h"
#include "polyhedral/interruption.h"

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
  case ErrorKind::Access:
    return "access";
  case ErrorKind::Device:
    return "device";
  case ErrorKind::Argument:
    return "argument";
  case ErrorKind::Set:
    return "set";
  case ErrorKind::Internal:
    break;
  }
  return "internal";
}

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030D0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

/// Sets the Python error. What a signal's handler raises on the way is the error instead; where the
/// interpreter is shutting down, a plain RuntimeError is.
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
    const py::object exception = make_error(kind_name(error.kind), error.what(), where, details);
    PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
  } catch (py::error_already_set &instead) {
    if (is_finalizing()) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
    } else {
      instead.restore();
    }
  }
}

const char *kind_name(ArgumentProblem problem) {
  switch (problem) {
  case ArgumentProblem::Type:
    return "argument_type";
  case ArgumentProblem::Overflow:
    return "argument_overflow";
  case ArgumentProblem::Value:
    break;
  }
  return "argument";
}

} // namespace

void raise_of_function(const Error &error, const py::object &function) {
  if (raise_from_handler()) {
    throw py::error_already_set();
  }
  raise_in_python(error);
  py::error_already_set raised;
  if (error.kind == ErrorKind::IllegalSchedule) {
    raised.value().attr("function") = function;
  }
  throw raised;
}

void throw_argument_error(ArgumentProblem problem, const std::string &message,
                          const py::object &cause) {
  const py::object exception = make_error(kind_name(problem), message, py::none(), py::dict());
  if (cause) {
    exception.attr("__cause__") = cause;
  }
  PyErr_SetObject(py::type::handle_of(exception).ptr(), exception.ptr());
  throw py::error_already_set();
}

void bind_errors(py::module_ &) {
  py::register_local_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) {
        std::rethrow_exception(pointer);
      }
    } catch (const Error &error) {
      if (!raise_from_handler()) {
        raise_in_python(error);
      }
    } catch (const Interrupted &) {
      if (!raise_from_handler() && PyErr_CheckSignals() == 0) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
      }
    }
  });
}

} // namespace tilewright
