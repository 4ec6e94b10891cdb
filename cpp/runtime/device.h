// What a GPU is to everything above it: memory, copies, and launches of kernels. The emulator
// (gpu_emulator.h) and CUDA devices (cuda_device.h) are the two kinds. One call of a function that
// has GPU kernels goes through a DeviceCall, which its compiled host code reaches by the call's
// record.
#pragma once

#include "runtime/abi.h"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// What a kernel's first failing thread leaves in device memory. Kernels know its layout.
struct DeviceFailure {
  std::int32_t status = KernelOk; ///< claimed by whoever changes it from KernelOk first
  std::int32_t padding = 0;
  std::int64_t site = 0;
  std::int64_t value = 0;
  std::int64_t extent = 0;
};

/// What the emulator knows of memory that a kernel touches, in the order of the kernel's buffers.
struct EmulatedBuffer {
  const char *name;
  std::int64_t item_bytes; ///< of a component, the smallest part that is read or written
  std::int64_t argument; ///< the position of its address among the arguments; -1: in shared memory
  std::int64_t shared_offset; ///< where it lies there
  std::int64_t shared_bytes;
};

/// A kernel for the emulator: what one thread does. It asks where it is, says what it touches and
/// waits by the functions of runtime/gpu_emulator.h.
struct EmulatedKernel {
  void (*thread)(const void *arguments);
  const EmulatedBuffer *buffers;
  std::int64_t buffer_count;
};

/// A kernel as the host code beside it names it: a constant that compiled code lays out.
struct DeviceKernel {
  const char *name; ///< its symbol in the PTX
  const char *ptx;  ///< with a null at its end; null in a function for the emulator
  std::int64_t ptx_bytes;
  const EmulatedKernel *emulated; ///< null in a function for CUDA
  std::int64_t argument_count; ///< of eight bytes each, addresses and int64; the first is where to
                               ///< leave a failure, or null
};

struct LaunchShape {
  std::int64_t grid[3];  ///< x, y, z: blocks
  std::int64_t block[3]; ///< threads in one
  std::int64_t shared_bytes;
};

/// Thrown by Device::launch where the call was asked to end meanwhile.
struct LaunchInterrupted {};
/// Whether the call whose launch this thread makes is to end; false outside of one.
bool launch_is_to_end();

/// A device and where work goes on it. Work is done in the order in which it was given. All
/// functions throw Error(Device).
class Device {
public:
  Device() = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;
  virtual ~Device() = default;

  virtual std::string name() const = 0; ///< "gpu-emulator", "cuda:0 (NVIDIA H200)"
  /// At least 256-byte aligned. Never null, for no bytes either.
  virtual void *allocate(std::int64_t bytes) = 0;
  virtual void release(void *memory) noexcept = 0;
  virtual void copy_in(void *device, const void *host, std::int64_t bytes) = 0;
  /// Returns when the bytes are there.
  virtual void copy_out(void *host, const void *device, std::int64_t bytes) = 0;
  virtual void copy(void *to, const void *from, std::int64_t bytes) = 0;
  virtual void clear(void *memory, std::int64_t bytes) = 0;
  /// A launch without blocks or threads does nothing.
  virtual void launch(const DeviceKernel &kernel, const LaunchShape &shape,
                      const void *arguments) = 0;
  /// Returns when all work is done; what went wrong in it is thrown here at the latest.
  virtual void synchronize() = 0;

  /// Rows at a distance of `pitch` bytes, at least `bytes` each. They return when it is done.
  virtual void copy_in_rows(void *device, std::int64_t device_pitch, const void *host,
                            std::int64_t host_pitch, std::int64_t bytes, std::int64_t rows);
  virtual void copy_out_rows(void *host, std::int64_t host_pitch, const void *device,
                             std::int64_t device_pitch, std::int64_t bytes, std::int64_t rows);
  /// Where this thread's work goes, for wait_for: a stream. Null where there is only one place.
  virtual std::shared_ptr<void> place() { return nullptr; }
  /// What this thread gives the device from now on is done after what went to `place`.
  virtual void wait_for(const std::shared_ptr<void> & /*place*/) {}
};

/// One call of a compiled function on a device. What goes wrong in compiled code's calls is kept
/// and thrown at the end.
class DeviceCall {
public:
  /// `may_fail`: kernels want a place for failures.
  explicit DeviceCall(Device &device, bool may_fail = true);
  DeviceCall(const DeviceCall &) = delete;
  DeviceCall &operator=(const DeviceCall &) = delete;
  ~DeviceCall();

  Device &device() { return device_; }

  /// Each launch waits until its kernel is done, so that the host's clock tells its time.
  void wait_for_launches() { waits_ = true; }

  /// Where kernels leave the first failure: DeviceFailure in device memory. Null where none may.
  void *failure() { return failure_; }
  /// After the entry has returned `status`: waits where `waits`, or where kernels may fail. Returns
  /// the status of the call and fills `record` with the first failure; throws what was kept.
  std::int32_t finish(std::int32_t status, KernelFailure &record, bool may_fail, bool waits);

  // ---- for compiled code; they never throw ----
  std::int32_t launch(const DeviceKernel &kernel, const LaunchShape &shape,
                      const void *arguments) noexcept;
  void *allocate(std::int64_t bytes) noexcept;
  void release(void *memory) noexcept;

private:
  Device &device_;
  bool waits_ = false;
  void *failure_ = nullptr;
  std::vector<void *> memory_; ///< what compiled code asked for and has not given back
  std::exception_ptr problem_;
};

} // namespace tilewright

extern "C" {
/// What compiled code calls; they go to the record's DeviceCall. `shape` is a LaunchShape.
/// Status: KernelOk, KernelInterrupted or KernelDeviceError.
std::int32_t tilewright_launch(tilewright::CallRecord *record,
                               const tilewright::DeviceKernel *kernel,
                               const tilewright::LaunchShape *shape, const void *arguments);
void *tilewright_device_allocate(tilewright::CallRecord *record, std::int64_t bytes);
void tilewright_device_free(tilewright::CallRecord *record, void *memory);
void *tilewright_device_failure(tilewright::CallRecord *record);
}
