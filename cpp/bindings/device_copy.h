// A NumPy array of a call as row-major elements in the memory of a device.
#pragma once

#include "bindings/call_arguments.h"
#include "runtime/device.h"

#include <cstdint>
#include <vector>

namespace tilewright {

/// Owns the memory. None of it needs the GIL.
class DeviceCopy {
public:
  DeviceCopy(Device &device, const BoundArray &array, int item_size);
  DeviceCopy(const DeviceCopy &) = delete;
  DeviceCopy &operator=(const DeviceCopy &) = delete;
  ~DeviceCopy() { device_.release(memory_); }

  void *memory() const { return memory_; }
  void copy_in();
  void copy_out();

private:
  bool is_row_major() const;
  template <class Visit>
  void walk(char *own, const Visit &visit) const;

  Device &device_;
  const BoundArray &array_;
  int item_size_;
  std::int64_t bytes_;
  void *memory_;
};

} // namespace tilewright
