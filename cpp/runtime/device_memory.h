// Memory of a device with an owner: a device array's, or a view of what another library owns. It
// knows where it was used last, so that what is done with it on another stream comes after that,
// and it is given back after all that used it.
#pragma once

#include "runtime/device.h"

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright {

class DeviceMemory {
public:
  DeviceMemory(Device &device, std::int64_t bytes)
      : device_(device), data_(device.allocate(bytes)), bytes_(bytes), place_(device.place()) {}
  /// A view of memory that `owner` keeps.
  DeviceMemory(Device &device, void *data, std::int64_t bytes, std::shared_ptr<void> owner)
      : device_(device), data_(data), bytes_(bytes), owner_(std::move(owner)), is_view_(true),
        place_(device.place()) {}
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory();

  Device &device() const { return device_; }
  void *data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  bool is_view() const { return is_view_; }

  /// Before this thread gives the device work on this memory.
  void use();
  /// After it has given it. Where another thread has called `use` meanwhile, that one waits for
  /// what was there before; what comes later waits for both.
  void used();

private:
  Device &device_;
  void *data_;
  std::int64_t bytes_;
  std::shared_ptr<void> owner_;
  bool is_view_ = false;
  std::mutex mutex_;
  std::shared_ptr<void> place_;               ///< where it was used last
  std::vector<std::shared_ptr<void>> others_; ///< where it was used at the same time
};

} // namespace tilewright
