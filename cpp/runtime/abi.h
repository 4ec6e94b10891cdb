// The one calling convention between compiled code and everything around it.
#pragma once

#include <atomic>
#include <cstdint>

namespace tilewright {

/// Filled by a kernel that fails.
struct KernelFailure {
  std::int64_t site = 0;   ///< index into Kernel::sites
  std::int64_t value = 0;  ///< the subscript found
  std::int64_t extent = 0; ///< the extent it had to stay below

  /// What the kernel was asked to watch (loops/instrumentation.h). Of the first failed check
  /// that reports more: so many integers, or doubles by their bits.
  static constexpr std::int64_t max_reported = 96;
  std::int64_t reported = 0;
  std::int64_t reports[max_reported];
  std::int64_t *times = nullptr; ///< nanoseconds by nest
};

enum KernelStatus : std::int32_t {
  KernelOk = 0,
  KernelIndexError = 1,
  KernelOutOfMemory = 2,
  KernelInterrupted = 3,
  KernelNotANumber = 4,
  KernelDeviceError = 5 ///< the call's DeviceCall knows more
};

class DeviceCall; // runtime/device.h

/// What goes with one call of a kernel, from its caller down to the threads of its parallel loops.
struct CallRecord {
  KernelFailure failure;    ///< first: compiled code knows where it is
  std::int32_t threads = 0; ///< at most so many run a parallel loop; 0: num_threads()
  /// Raised when the call is to end early: all of its threads return KernelInterrupted soon.
  std::atomic<std::int32_t> stop{0};
  /// Asked now and then, by the thread `caller` alone, whether to end; null: nobody wants to know.
  bool (*ask)(CallRecord &record) = nullptr;
  unsigned long caller = 0; ///< its pthread_self
  /// Where kernels of a GPU run; null in a function that has none.
  DeviceCall *device = nullptr;
};

/// What the closure of each parallel loop begins with.
struct ClosureHead {
  void *const *data;
  const std::int64_t *integers;
  CallRecord *record;
};

/// data: the arguments' base addresses, in argument order (element at index 0, so strides may be
/// negative). integers: the parameters, then for each argument its strides in bytes, one for each
/// dimension.
using KernelEntry = std::int32_t (*)(void *const *data, const std::int64_t *integers,
                                     CallRecord *record);

/// The body of a parallel loop: iterations [begin, end), part of what one thread has to do. The
/// first status other than KernelOk is returned at the end.
using ParallelBody = std::int32_t (*)(std::int64_t begin, std::int64_t end, void *closure);

} // namespace tilewright

extern "C" {
/// What compiled code calls. See runtime/parallel.h for the threads of a parallel loop, which are
/// given its iterations by `dealing`: 0, one range of equal size each, the same for the same
/// extent; n > 0, chunks of n iterations in turn; n < 0, chunks of -n to whoever is free. `work` is
/// an estimate in operations on registers: a loop of little work runs in the thread that meets it.
std::int32_t tilewright_parallel_for(std::int64_t begin, std::int64_t end, void *closure,
                                     tilewright::ParallelBody body, std::int64_t dealing,
                                     std::int64_t work);
/// Whether to go on: KernelOk, or KernelInterrupted. Kernels ask it every some hundred thousand
/// operations of a thread.
std::int32_t tilewright_poll(tilewright::CallRecord *record);
void *tilewright_allocate(std::int64_t bytes); ///< 64-byte aligned, null when there is none
void tilewright_free(void *memory);
}
