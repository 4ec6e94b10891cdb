#include "bindings/device_array.h"

#include "bindings/bind_arrays.h"
#include "bindings/bind_errors.h"
#include "bindings/gil.h"
#include "bindings/signals.h"
#include "runtime/devices.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace tilewright {

namespace py = pybind11;

namespace {

using Extents = std::vector<std::int64_t>;

Extents row_major_strides(const Extents &shape, std::int64_t item) {
  Extents strides(shape.size());
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = item;
    item *= std::max<std::int64_t>(shape[d], 1);
  }
  return strides;
}

bool has_elements(const Extents &shape) {
  return std::find(shape.begin(), shape.end(), 0) == shape.end();
}

std::int64_t product(const Extents &shape) {
  return has_elements(shape)
             ? std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>())
             : 0;
}

/// Of memory for an array. Its strides can be counted, too: as in NumPy, an extent of 0 makes the
/// others no smaller.
std::int64_t checked_bytes(const Extents &shape, std::int64_t item) {
  std::int64_t bytes = item;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      throw_argument_error(ArgumentProblem::Value,
                           "a shape has no negative extents, got " + std::to_string(extent));
    }
    if (__builtin_mul_overflow(bytes, std::max<std::int64_t>(extent, 1), &bytes)) {
      throw_argument_error(ArgumentProblem::Overflow, "an array of so many elements has more bytes "
                                                      "than 64 bits can count");
    }
  }
  return has_elements(shape) ? bytes : 0;
}

std::string tuple_text(const Extents &values) {
  std::string text = "(";
  for (size_t d = 0; d < values.size(); ++d) {
    text += (d == 0 ? "" : ", ") + std::to_string(values[d]);
  }
  return text + (values.size() == 1 ? ",)" : ")");
}

/// How elements on a device are copied to or from row-major elements on the host: `rows` rows of
/// `bytes` at once, for each index of the axes before `outer`.
struct CopyShape {
  size_t outer = 0;
  std::int64_t bytes = 0;
  std::int64_t rows = 1;
  std::int64_t pitch = 0; ///< between rows on the device
  std::int64_t calls = 1;
};

CopyShape copy_shape(const DeviceArray &array) {
  CopyShape found;
  found.bytes = array.type().bytes();
  size_t axis = array.shape().size();
  while (axis > 0 && (array.strides()[axis - 1] == found.bytes || array.shape()[axis - 1] == 1)) {
    found.bytes *= array.shape()[--axis];
  }
  if (axis > 0 && array.strides()[axis - 1] >= found.bytes) {
    found.rows = array.shape()[--axis];
    found.pitch = array.strides()[axis];
  }
  found.outer = axis;
  for (size_t d = 0; d < axis; ++d) {
    found.calls *= array.shape()[d];
  }
  return found;
}

/// Calls `copy` with the first byte of each group of rows on the device, and its offset on the
/// host.
template <class F>
void for_each_group(const DeviceArray &array, const CopyShape &shape, F &&copy) {
  Extents index(shape.outer, 0);
  char *device = array.data();
  for (std::int64_t call = 0; call < shape.calls; ++call) {
    copy(device, call * shape.rows * shape.bytes);
    for (size_t d = shape.outer; d-- > 0;) {
      device += array.strides()[d];
      if (++index[d] < array.shape()[d]) {
        break;
      }
      device -= array.strides()[d] * array.shape()[d];
      index[d] = 0;
    }
  }
}

/// [low, high): the bytes that the elements span, from the first one.
std::pair<std::int64_t, std::int64_t> span(const DeviceArray &array) {
  std::int64_t low = 0;
  std::int64_t high = array.type().bytes();
  for (size_t d = 0; d < array.shape().size(); ++d) {
    const std::int64_t reach = array.strides()[d] * (array.shape()[d] - 1);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

} // namespace

DeviceArray::DeviceArray(Device &device, ScalarType type, Extents shape)
    : type_(type), shape_(std::move(shape)) {
  const std::int64_t bytes = checked_bytes(shape_, type.bytes());
  strides_ = row_major_strides(shape_, type.bytes());
  const GilReleased unlocked;
  memory_ = std::make_shared<DeviceMemory>(device, bytes);
  data_ = static_cast<char *>(memory_->data());
}

DeviceArray::DeviceArray(std::shared_ptr<DeviceMemory> memory, void *data, ScalarType type,
                         Extents shape, Extents strides, bool is_read_only)
    : memory_(std::move(memory)), data_(static_cast<char *>(data)), type_(type),
      shape_(std::move(shape)), strides_(std::move(strides)), is_read_only_(is_read_only) {}

std::int64_t DeviceArray::size() const { return product(shape_); }

bool DeviceArray::is_row_major() const {
  if (!has_elements(shape_)) {
    return true;
  }
  const Extents packed = row_major_strides(shape_, type_.bytes());
  for (size_t d = 0; d < shape_.size(); ++d) {
    if (shape_[d] > 1 && strides_[d] != packed[d]) {
      return false;
    }
  }
  return true;
}

std::string describe(const DeviceArray &array) {
  return type_name(array.type()) + " array of shape " + tuple_text(array.shape()) + " on " +
         short_name(array.device());
}

// ---- to the host and back ----

py::array DeviceArray::to_host() const {
  const py::dtype dtype = numpy_dtype(type_);
  auto host = py::reinterpret_steal<py::array>(new_array(dtype, shape_, false).release());
  if (size() == 0) {
    return host;
  }
  auto *to = static_cast<char *>(host.mutable_data());
  const CopyShape shape = copy_shape(*this);
  const auto [low, high] = span(*this);
  constexpr std::int64_t many_calls = 16;
  if (shape.calls > many_calls && high - low <= 8 * size() * type_.bytes()) {
    // All of the bytes between, and the elements from them.
    py::array_t<char> bytes(high - low);
    auto *all = bytes.mutable_data();
    wait_without_gil([&] {
      memory_->use();
      device().copy_out(all, data_ + low, high - low);
    });
    const py::array elements(dtype, shape_, strides_, bytes.data() - low, bytes);
    return py::array(elements.attr("copy")("C"));
  }
  wait_without_gil([&] {
    memory_->use();
    for_each_group(*this, shape, [&](char *from, std::int64_t offset) {
      if (shape.rows == 1) {
        device().copy_out(to + offset, from, shape.bytes);
      } else {
        device().copy_out_rows(to + offset, shape.bytes, from, shape.pitch, shape.bytes,
                               shape.rows);
      }
    });
  });
  return host;
}

void DeviceArray::require_writeable() const {
  if (is_read_only_) {
    throw_argument_error(ArgumentProblem::Value,
                         "the " + describe(*this) + " is read-only: its owner says so");
  }
}

void DeviceArray::copy_from_host(const py::array &given) {
  require_writeable();
  const py::dtype dtype = numpy_dtype(type_);
  if (!same_dtype(given.dtype().ptr(), dtype.ptr())) {
    throw_argument_error(
        ArgumentProblem::Type,
        "cannot copy elements of type " + py::str(given.dtype()).cast<std::string>() + " to the " +
            describe(*this) + "; convert them first, with .astype(\"" + type_name(type_) + "\")");
  }
  const Extents shape(given.shape(), given.shape() + given.ndim());
  if (shape != shape_) {
    throw_argument_error(ArgumentProblem::Value, "cannot copy an array of shape " +
                                                     tuple_text(shape) + " to the " +
                                                     describe(*this));
  }
  if (size() == 0) {
    return;
  }
  const py::array host = py::array::ensure(given, py::array::c_style);
  const auto *from = static_cast<const char *>(host.data());
  wait_without_gil([&] {
    memory_->use();
    const CopyShape copied = copy_shape(*this);
    for_each_group(*this, copied, [&](char *to, std::int64_t offset) {
      if (copied.rows == 1) {
        device().copy_in(to, from + offset, copied.bytes);
      } else {
        device().copy_in_rows(to, copied.pitch, from + offset, copied.bytes, copied.bytes,
                              copied.rows);
      }
    });
  });
}

void DeviceArray::copy_from(const DeviceArray &from) {
  if (&from.device() != &device() || !from.is_row_major() || !is_row_major() ||
      from.type_ != type_ || from.shape_ != shape_) {
    copy_from_host(from.to_host());
    return;
  }
  require_writeable();
  const std::int64_t bytes = size() * type_.bytes();
  if (data_ == from.data_) {
    return;
  }
  if (data_ < from.data_ + bytes && from.data_ < data_ + bytes) {
    copy_from(from.copy()); // the driver's copies must not overlap
    return;
  }
  const GilReleased unlocked;
  from.memory_->use();
  memory_->use();
  device().copy(data_, from.data_, bytes);
  from.memory_->used();
  memory_->used();
}

DeviceArray DeviceArray::copy() const {
  DeviceArray made(device(), type_, shape_);
  made.copy_from(*this);
  return made;
}

DeviceArray DeviceArray::twin() const {
  const auto [low, high] = size() == 0 ? std::pair<std::int64_t, std::int64_t>() : span(*this);
  const GilReleased unlocked;
  auto memory = std::make_shared<DeviceMemory>(device(), high - low);
  memory_->use();
  device().copy(memory->data(), data_ + low, high - low);
  memory_->used();
  char *first = static_cast<char *>(memory->data()) - low;
  return {std::move(memory), first, type_, shape_, strides_, false};
}

// ---- views ----

DeviceArray DeviceArray::view(const py::object &key) const {
  py::tuple keys =
      py::isinstance<py::tuple>(key) ? py::reinterpret_borrow<py::tuple>(key) : py::make_tuple(key);
  const auto is_full = [](const py::handle &each) { return each.is(py::ellipsis()); };
  size_t consumed = 0;
  size_t ellipses = 0;
  for (const py::handle each : keys) {
    ellipses += is_full(each) ? 1 : 0;
    consumed += is_full(each) || each.is_none() ? 0 : 1;
  }
  if (consumed > shape_.size() || ellipses > 1) {
    throw py::index_error("too many indices for the " + describe(*this));
  }
  Extents shape;
  Extents strides;
  std::int64_t offset = 0;
  size_t axis = 0;
  const auto refuse = [](const py::handle &each) {
    throw_argument_error(ArgumentProblem::Type,
                         "device arrays take integers, slices, an ellipsis and None as indices, "
                         "got " +
                             std::string(Py_TYPE(each.ptr())->tp_name));
  };
  const auto keep = [&](size_t axes) {
    for (size_t d = 0; d < axes; ++d, ++axis) {
      shape.push_back(shape_[axis]);
      strides.push_back(strides_[axis]);
    }
  };
  for (const py::handle each : keys) {
    if (is_full(each)) {
      keep(shape_.size() - consumed);
    } else if (each.is_none()) {
      shape.push_back(1);
      strides.push_back(0);
    } else if (py::isinstance<py::slice>(each)) {
      Py_ssize_t start = 0;
      Py_ssize_t stop = 0;
      Py_ssize_t step = 0;
      if (PySlice_Unpack(each.ptr(), &start, &stop, &step) != 0) {
        throw py::error_already_set();
      }
      const Py_ssize_t length = PySlice_AdjustIndices(shape_[axis], &start, &stop, step);
      offset += length == 0 ? 0 : start * strides_[axis];
      shape.push_back(length);
      strides.push_back(strides_[axis] * step);
      ++axis;
    } else if (!py::isinstance<py::bool_>(each) && PyIndex_Check(each.ptr()) != 0) {
      const Py_ssize_t given = PyNumber_AsSsize_t(each.ptr(), PyExc_IndexError);
      if (given == -1 && PyErr_Occurred() != nullptr) {
        if (PyErr_ExceptionMatches(PyExc_TypeError) != 0) { // an array of several numbers
          PyErr_Clear();
          refuse(each);
        }
        throw py::error_already_set();
      }
      const std::int64_t index = given < 0 ? given + shape_[axis] : given;
      if (index < 0 || index >= shape_[axis]) {
        throw py::index_error("index " + std::to_string(given) + " is out of bounds for axis " +
                              std::to_string(axis) + " of the " + describe(*this));
      }
      offset += index * strides_[axis];
      ++axis;
    } else {
      refuse(each);
    }
  }
  keep(shape_.size() - axis);
  return {memory_, data_ + offset, type_, std::move(shape), std::move(strides), is_read_only_};
}

} // namespace tilewright
