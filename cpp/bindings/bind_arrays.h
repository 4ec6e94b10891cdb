// NumPy arrays as the calls see them: fields read straight from the array object (no Python call),
// element types compared by their descriptor, layouts, and fresh outputs. Everything here needs the
// GIL.
#pragma once

#include "algorithm/function.h"
#include "loops/loop_ir.h"

#include <llvm/ADT/ArrayRef.h>
#include <pybind11/numpy.h>

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// The array's fields. `object` must be an ndarray.
inline const pybind11::detail::PyArray_Proxy &array_fields(const PyObject *object) {
  return *reinterpret_cast<const pybind11::detail::PyArray_Proxy *>(object);
}

inline bool is_array(const PyObject *object) {
  auto *type = pybind11::detail::npy_api::get().PyArray_Type_;
  return Py_TYPE(object) == type || PyType_IsSubtype(Py_TYPE(object), type) != 0;
}

inline bool has_flag(const PyObject *array, int flag) {
  return (array_fields(array).flags & flag) != 0;
}
inline bool is_aligned(const PyObject *array) {
  return has_flag(array, pybind11::detail::npy_api::NPY_ARRAY_ALIGNED_);
}
inline bool is_writeable(const PyObject *array) {
  return has_flag(array, pybind11::detail::npy_api::NPY_ARRAY_WRITEABLE_);
}
inline bool is_c_contiguous(const PyObject *array) {
  return has_flag(array, pybind11::detail::npy_api::NPY_ARRAY_C_CONTIGUOUS_);
}

/// NumPy's descriptor of an element type (bfloat16: the one of ml_dtypes, which is imported then).
pybind11::dtype numpy_dtype(ScalarType type);

/// The same element type in the machine's byte order, though not the same descriptor object.
bool same_dtype(PyObject *dtype, PyObject *expected);

/// A fresh, row-major array, its elements unset or zero.
pybind11::object new_array(const pybind11::dtype &dtype, llvm::ArrayRef<std::int64_t> shape,
                           bool zeros);

/// A fresh copy of an array with the same element type.
pybind11::object copy_array(PyObject *array);

/// Its unit dimension is the last one whose stride is one item, or the last one of all when it has
/// at most one element. Of the `constant_tail` last dimensions the extents are constants.
ArrayLayout layout_of(int rank, const pybind11::ssize_t *dimensions,
                      const pybind11::ssize_t *strides, int item_size, int constant_tail);

/// "(3, 4)", and "float32 array of shape (3, 4)" for messages.
std::string shape_text(PyObject *array);

} // namespace tilewright
