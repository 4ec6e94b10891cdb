#include "bindings/scalar_arguments.h"

#include "bindings/bind_arrays.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

namespace tilewright {

namespace py = pybind11;

namespace {

template <class T>
void put(T value, std::byte *slot) {
  std::memcpy(slot, &value, sizeof value);
}

NumberFit store_integer(PyObject *number, ScalarType type, std::byte *slot) {
  int overflow = 0;
  const long long small = PyLong_AsLongLongAndOverflow(number, &overflow);
  std::uint64_t bits = static_cast<std::uint64_t>(small);
  if (overflow < 0) {
    return NumberFit::Overflow;
  }
  if (overflow > 0) {
    bits = PyLong_AsUnsignedLongLong(number);
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return NumberFit::Overflow;
    }
  }
  const bool is_negative = overflow == 0 && small < 0;
  const bool fits = is_negative ? small >= integer_min(type) : bits <= integer_max(type);
  if (!fits) {
    return NumberFit::Overflow;
  }
  std::memcpy(slot, &bits, static_cast<size_t>(type.bytes())); // little endian
  return NumberFit::Fits;
}

/// The smallest finite number that rounds to infinity.
double overflow_of(ScalarType type) {
  if (type.kind == TypeKind::BFloat) {
    return 0x1.ffp127;
  }
  return type.bits == 16 ? 65520.0 : 0x1.ffffffp127;
}

NumberFit store_real(double value, ScalarType type, std::byte *slot) {
  if (type == Float64) {
    put(value, slot);
    return NumberFit::Fits;
  }
  if (std::isfinite(value) && std::abs(value) >= overflow_of(type)) {
    return NumberFit::Overflow;
  }
  if (type == Float32) {
    put(static_cast<float>(value), slot);
    return NumberFit::Fits;
  }
  const py::object half = py::module_::import("numpy").attr("array")(value, numpy_dtype(type));
  std::memcpy(slot, array_fields(half.ptr()).data, sizeof(std::uint16_t));
  return NumberFit::Fits;
}

NumberFit store_complex(Py_complex value, ScalarType type, std::byte *slot) {
  const ScalarType component = component_type(type);
  const NumberFit real = store_real(value.real, component, slot);
  return real == NumberFit::Fits ? store_real(value.imag, component, slot + component.bytes())
                                 : real;
}

} // namespace

bool is_plain_number(PyObject *object) {
  return PyFloat_CheckExact(object) || PyLong_CheckExact(object) || PyBool_Check(object) ||
         PyComplex_CheckExact(object);
}

NumberFit store_number(PyObject *number, ScalarType type, std::byte *slot) {
  if (type.is_bool()) {
    if (!PyBool_Check(number)) {
      return NumberFit::WrongKind;
    }
    put(static_cast<std::uint8_t>(number == Py_True), slot);
    return NumberFit::Fits;
  }
  if (type.is_integer()) {
    return PyLong_Check(number) ? store_integer(number, type, slot) : NumberFit::WrongKind;
  }
  if (PyComplex_CheckExact(number)) {
    return type.is_complex() ? store_complex(PyComplex_AsCComplex(number), type, slot)
                             : NumberFit::WrongKind;
  }
  double value = 0.0;
  if (PyFloat_CheckExact(number)) {
    value = PyFloat_AS_DOUBLE(number);
  } else {
    value = PyLong_AsDouble(number);
    if (value == -1.0 && PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return NumberFit::Overflow;
    }
  }
  return type.is_complex() ? store_complex({value, 0.0}, type, slot)
                           : store_real(value, type, slot);
}

} // namespace tilewright
