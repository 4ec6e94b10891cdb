// Arrays that are not NumPy's: anything with the buffer protocol, DLPack or NumPy's own interface
// attributes becomes an ndarray that views the same memory. Tried in the order of their cost; a
// NumPy array never comes here.
#pragma once

#include "bindings/dlpack.h"

#include <pybind11/pybind11.h>

namespace tilewright {

struct ForeignArray {
  pybind11::object array;     ///< an ndarray; null where the object has no array data
  bool may_be_a_copy = false; ///< it came from __array__, which may convert
};

/// Throws RefusedArray or the object's own Python error where it has array data that cannot be had.
ForeignArray foreign_array(PyObject *object);

/// NumPy's scalars (np.float32(3)), which are arrays without axes.
bool is_numpy_scalar(PyObject *object);

/// The array with its elements in the machine's byte order, or null where they are that already or
/// are no numbers.
pybind11::object in_native_order(PyObject *array);

} // namespace tilewright
