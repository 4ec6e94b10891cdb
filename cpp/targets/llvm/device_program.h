// A kernel's launches for somebody else's host code: the text that the device's driver takes, and
// what each launch passes to its threads. C source (c_source.h) launches kernels by it.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// An array of which a launch passes the address and these dimensions' strides, in bytes.
struct PassedBuffer {
  size_t buffer = 0; ///< in Kernel::buffers
  std::vector<size_t> strides;
};

/// A launch passes, in eight bytes each: the address of the place for failures (DeviceFailure of
/// runtime/device.h) or null, the kernel's parameters, the arrays, the variables.
struct DeviceLaunch {
  const Launch *statement = nullptr; ///< of the kernel, which has grid and threads
  std::string symbol;                ///< of the thread's function in the text
  std::vector<PassedBuffer> buffers;
  std::vector<std::int64_t> variables; ///< of loops around
  std::int64_t shared_bytes = 0;       ///< of a block
};

struct DeviceProgram {
  std::string text;
  std::vector<DeviceLaunch> launches; ///< in the order of the kernel's statements
};

} // namespace tilewright
