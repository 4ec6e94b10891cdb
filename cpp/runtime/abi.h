// The one calling convention between compiled code and everything around it.
#pragma once

#include <cstdint>

namespace tilewright {

/// Filled by a kernel that fails.
struct KernelFailure {
  std::int64_t site = 0;   ///< index into Kernel::sites
  std::int64_t value = 0;  ///< the subscript found
  std::int64_t extent = 0; ///< the extent it had to stay below
};

enum KernelStatus : std::int32_t {
  KernelOk = 0,
  KernelIndexError = 1,
  KernelOutOfMemory = 2,
  KernelInterrupted = 3
};

/// data: the arguments' base addresses, in argument order (element at index 0, so strides may be
/// negative). integers: the parameters, then for each argument its strides in bytes, one for each
/// dimension.
using KernelEntry = std::int32_t (*)(void *const *data, const std::int64_t *integers,
                                     KernelFailure *failure);

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
void *tilewright_allocate(std::int64_t bytes); ///< 64-byte aligned, null when there is none
void tilewright_free(void *memory);
}
