// Python's numbers as operands of expressions.
#include "bindings/bind_language.h"

#include <pybind11/complex.h>
#include <pybind11/pybind11.h>

#include <complex>
#include <cstdint>
#include <optional>
#include <string>

namespace py = pybind11;

namespace tilewright {

namespace {

/// A Python int as a constant; beyond 64 bits it has no type here.
ConstantValue integer_value(const py::handle &value) {
  int overflow = 0;
  const long long as_signed = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow == 0) {
    if (as_signed == -1 && PyErr_Occurred() != nullptr) {
      throw py::error_already_set();
    }
    return static_cast<std::int64_t>(as_signed);
  }
  if (overflow > 0) {
    const unsigned long long as_unsigned = PyLong_AsUnsignedLongLong(value.ptr());
    if (PyErr_Occurred() == nullptr) {
      return static_cast<std::uint64_t>(as_unsigned);
    }
    PyErr_Clear();
  }
  throw Error(ErrorKind::Type, "the Python integer " + py::cast<std::string>(py::str(value)) +
                                   " does not fit into 64 bits");
}

} // namespace

std::optional<WeakNumber> weak_number(const py::handle &value) {
  PyObject *object = value.ptr();
  if (PyBool_Check(object)) {
    return WeakNumber{TypeKind::Bool, object == Py_True};
  }
  if (PyLong_Check(object)) {
    return WeakNumber{TypeKind::Int, integer_value(value)};
  }
  if (PyFloat_Check(object)) {
    return WeakNumber{TypeKind::Float, PyFloat_AsDouble(object)};
  }
  if (PyComplex_Check(object)) {
    return WeakNumber{TypeKind::Complex, py::cast<std::complex<double>>(value)};
  }
  return std::nullopt;
}

Operand to_operand(const py::handle &value) {
  if (py::isinstance<ExprHandle>(value)) {
    return py::cast<const ExprHandle &>(value).expr;
  }
  if (const std::optional<WeakNumber> weak = weak_number(value)) {
    return *weak;
  }
  throw Error(ErrorKind::Type,
              "an operand must be an expression or a number, not " +
                  py::cast<std::string>(py::str(py::type::handle_of(value).attr("__name__"))));
}

} // namespace tilewright
