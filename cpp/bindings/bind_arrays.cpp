#include "bindings/bind_arrays.h"

#include <cstring>

namespace tilewright {

namespace py = pybind11;

py::dtype numpy_dtype(ScalarType type) {
  if (type.kind == TypeKind::BFloat) {
    return py::dtype::from_args(py::module_::import("ml_dtypes").attr("bfloat16"));
  }
  return py::dtype(type_name(type));
}

bool same_dtype(PyObject *dtype, PyObject *expected) {
  if (dtype == expected) {
    return true;
  }
  return py::detail::npy_api::get().PyArray_EquivTypes_(dtype, expected);
}

py::object new_array(const py::dtype &dtype, llvm::ArrayRef<std::int64_t> shape, bool zeros) {
  const auto &api = py::detail::npy_api::get();
  static_assert(sizeof(Py_intptr_t) == sizeof(std::int64_t));
  auto descriptor = dtype; // the call takes one reference
  auto array = py::reinterpret_steal<py::object>(api.PyArray_NewFromDescr_(
      api.PyArray_Type_, descriptor.release().ptr(), static_cast<int>(shape.size()), shape.data(),
      nullptr, nullptr, 0, nullptr));
  if (!array) {
    throw py::error_already_set();
  }
  if (zeros) {
    auto bytes = static_cast<size_t>(dtype.itemsize());
    for (const auto extent : shape) {
      bytes *= static_cast<size_t>(extent);
    }
    std::memset(array_fields(array.ptr()).data, 0, bytes);
  }
  return array;
}

py::object copy_array(PyObject *array) {
  constexpr int keep_order = 2;
  auto copy = py::reinterpret_steal<py::object>(
      py::detail::npy_api::get().PyArray_NewCopy_(array, keep_order));
  if (!copy) {
    throw py::error_already_set();
  }
  return copy;
}

ArrayLayout layout_of(int rank, const py::ssize_t *dimensions, const py::ssize_t *strides,
                      int item_size, int constant_tail) {
  ArrayLayout layout;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (strides[axis] == item_size || (axis == rank - 1 && dimensions[axis] <= 1)) {
      layout.unit = axis;
      break;
    }
  }
  if (layout.unit != rank - 1) {
    return layout;
  }
  std::ptrdiff_t packed = item_size;
  for (int axis = rank - 2; axis >= 0 && layout.packed < constant_tail; --axis) {
    packed *= dimensions[axis + 1];
    // An axis of one element may have any stride.
    if (strides[axis] != packed && dimensions[axis] > 1) {
      break;
    }
    ++layout.packed;
  }
  return layout;
}

std::string shape_text(PyObject *array) {
  return py::str(py::handle(array).attr("shape")).cast<std::string>();
}

} // namespace tilewright
