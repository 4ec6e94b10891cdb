#include "bindings/bind_arrays.h"

#include <algorithm>
#include <cstdlib>
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

MemoryRange memory_range(PyObject *array) {
  const auto &fields = array_fields(array);
  auto low = reinterpret_cast<std::uintptr_t>(fields.data);
  auto high = low;
  for (int axis = 0; axis < fields.nd; ++axis) {
    if (fields.dimensions[axis] == 0) {
      return {};
    }
    const py::ssize_t reach = fields.strides[axis] * (fields.dimensions[axis] - 1);
    (reach < 0 ? low : high) += static_cast<std::uintptr_t>(reach);
  }
  const auto item = py::reinterpret_borrow<py::dtype>(fields.descr).itemsize();
  return {low, high + static_cast<std::uintptr_t>(item)};
}

bool may_overlap_itself(PyObject *array) {
  if (is_c_contiguous(array)) {
    return false;
  }
  const auto &fields = array_fields(array);
  std::vector<std::pair<py::ssize_t, py::ssize_t>> axes; // stride, elements
  for (int axis = 0; axis < fields.nd; ++axis) {
    if (fields.dimensions[axis] == 0) {
      return false;
    }
    if (fields.dimensions[axis] > 1) {
      axes.emplace_back(std::abs(fields.strides[axis]), fields.dimensions[axis]);
    }
  }
  std::sort(axes.begin(), axes.end());
  py::ssize_t reach = py::reinterpret_borrow<py::dtype>(fields.descr).itemsize();
  for (const auto &[stride, elements] : axes) {
    if (stride < reach) {
      return true;
    }
    reach += stride * (elements - 1);
  }
  return false;
}

bool shares_memory(PyObject *a, PyObject *b) {
  if (!overlap(memory_range(a), memory_range(b))) {
    return false;
  }
  try {
    return py::module_::import("numpy")
        .attr("shares_memory")(py::handle(a), py::handle(b), 100000)
        .cast<bool>();
  } catch (py::error_already_set &) {
    return true; // too hard to tell within the bound
  }
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

bool same_elements(PyObject *a, PyObject *b) {
  const auto &left = array_fields(a);
  const auto &right = array_fields(b);
  return a == b || (left.data == right.data && left.nd == right.nd &&
                    std::equal(left.dimensions, left.dimensions + left.nd, right.dimensions) &&
                    std::equal(left.strides, left.strides + left.nd, right.strides));
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

ArrayLayout layout_of(PyObject *array, int item_size, int constant_tail) {
  const auto &fields = array_fields(array);
  ArrayLayout layout;
  for (int axis = fields.nd - 1; axis >= 0; --axis) {
    if (fields.strides[axis] == item_size ||
        (axis == fields.nd - 1 && fields.dimensions[axis] <= 1)) {
      layout.unit = axis;
      break;
    }
  }
  if (layout.unit != fields.nd - 1) {
    return layout;
  }
  std::ptrdiff_t packed = item_size;
  for (int axis = fields.nd - 2; axis >= 0 && layout.packed < constant_tail; --axis) {
    packed *= fields.dimensions[axis + 1];
    // An axis of one element may have any stride.
    if (fields.strides[axis] != packed && fields.dimensions[axis] > 1) {
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
