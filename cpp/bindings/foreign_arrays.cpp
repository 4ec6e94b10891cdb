#include "bindings/foreign_arrays.h"

#include "bindings/bind_arrays.h"

namespace tilewright {

namespace py = pybind11;

namespace {

py::object as_array(const py::handle &object) {
  auto array = py::reinterpret_steal<py::object>(
      py::detail::npy_api::get().PyArray_FromAny_(object.ptr(), nullptr, 0, 0, 0, nullptr));
  if (!array) {
    throw py::error_already_set();
  }
  return array;
}

const py::object &numpy_generic() {
  PYBIND11_CONSTINIT static py::gil_safe_call_once_and_store<py::object> generic;
  return generic
      .call_once_and_store_result(
          []() -> py::object { return py::module_::import("numpy").attr("generic"); })
      .get_stored();
}

/// What a property raises goes on, unless it says that there is no such attribute.
bool has(PyObject *object, const char *name) {
  const auto found = py::reinterpret_steal<py::object>(PyObject_GetAttrString(object, name));
  if (!found && PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    throw py::error_already_set();
  }
  PyErr_Clear();
  return static_cast<bool>(found);
}

} // namespace

bool is_numpy_scalar(PyObject *object) {
  return PyType_IsSubtype(Py_TYPE(object),
                          reinterpret_cast<PyTypeObject *>(numpy_generic().ptr())) != 0;
}

ForeignArray foreign_array(PyObject *object) {
  if (PyType_Check(object) != 0) {
    return {}; // a class has the attributes of its instances
  }
  if (is_numpy_scalar(object)) {
    return {as_array(object), true};
  }
  if (PyObject_CheckBuffer(object) != 0) {
    // A memoryview first: NumPy takes bytes for text.
    const auto view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(object));
    if (!view) {
      throw py::error_already_set();
    }
    return {as_array(view), false};
  }
  if (has(object, "__dlpack__")) {
    return {from_dlpack(object), false};
  }
  if (has(object, "__array_interface__") || has(object, "__array_struct__")) {
    return {as_array(object), false};
  }
  if (has(object, "__array__")) {
    return {as_array(object), true};
  }
  return {};
}

py::object in_native_order(PyObject *array) {
  const py::handle dtype(array_fields(array).descr);
  if (dtype.attr("isnative").cast<bool>() || dtype.attr("kind").cast<std::string>() == "V") {
    return {};
  }
  return py::handle(array).attr("astype")(dtype.attr("newbyteorder")("="));
}

} // namespace tilewright
