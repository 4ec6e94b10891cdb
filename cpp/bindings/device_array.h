// Arrays in the memory of a device: what tw.to_device and tw.empty make, and views of other
// libraries' device arrays. NumPy's conventions hold for shapes, strides and slices; values go to
// the host and back only when they are asked to.
#pragma once

#include "algorithm/type.h"
#include "runtime/device_memory.h"

#include <pybind11/numpy.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

class DeviceArray {
public:
  /// Row-major, its elements unset.
  DeviceArray(Device &device, ScalarType type, std::vector<std::int64_t> shape);
  /// Elements in `memory`; strides in bytes.
  DeviceArray(std::shared_ptr<DeviceMemory> memory, void *data, ScalarType type,
              std::vector<std::int64_t> shape, std::vector<std::int64_t> strides,
              bool is_read_only);

  Device &device() const { return memory_->device(); }
  const std::shared_ptr<DeviceMemory> &memory() const { return memory_; }
  char *data() const { return data_; }
  ScalarType type() const { return type_; }
  const std::vector<std::int64_t> &shape() const { return shape_; }
  const std::vector<std::int64_t> &strides() const { return strides_; } ///< in bytes
  bool is_read_only() const { return is_read_only_; }
  std::int64_t size() const;
  bool is_row_major() const;

  /// A copy on the host, row-major. Waits for the work on the array.
  pybind11::array to_host() const;
  /// The elements of an array of the same shape and type, on the host or a device.
  void copy_from_host(const pybind11::array &from);
  void copy_from(const DeviceArray &from);
  /// A row-major copy on its device.
  DeviceArray copy() const;
  /// A copy of all its memory between its first and its last element, with the same strides.
  DeviceArray twin() const;
  /// Basic indexing: integers, slices, an ellipsis, None.
  DeviceArray view(const pybind11::object &key) const;

private:
  void require_writeable() const;

  std::shared_ptr<DeviceMemory> memory_;
  char *data_ = nullptr;
  ScalarType type_;
  std::vector<std::int64_t> shape_;
  std::vector<std::int64_t> strides_;
  bool is_read_only_ = false;
};

/// "float32 array of shape (3, 4) on cuda:0"
std::string describe(const DeviceArray &array);

// ---- exchange: device_exchange.cpp ----

/// A view of an object with __dlpack__ or __cuda_array_interface__ whose elements are on a CUDA
/// device; work of this thread waits for the owner's. Null where the object is no device array.
std::shared_ptr<DeviceArray> view_device_array(const pybind11::object &object);
/// Whether view_device_array would look at it; asks attributes only.
bool is_device_array(const pybind11::handle &object);

pybind11::dict cuda_array_interface(const DeviceArray &array);
pybind11::tuple dlpack_device(const DeviceArray &array);
pybind11::object to_dlpack(const DeviceArray &array, const pybind11::object &stream,
                           const pybind11::object &max_version, const pybind11::object &dl_device,
                           const pybind11::object &copy);

} // namespace tilewright
