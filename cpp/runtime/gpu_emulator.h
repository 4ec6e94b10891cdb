// A GPU on the host: the kernels' own code, one fibre for each thread of a block, blocks one after
// the other. It finds what a GPU would not say: accesses outside their memory, threads that touch
// one element with no barrier between (or blocks that do), and barriers that not all threads of a
// block come to. What it finds ends the launch with an Error(Device) that names both accesses. For
// tests and for finding mistakes; it is some hundred times slower than the CPU's own code.
#pragma once

#include "runtime/device.h"

namespace tilewright {

/// The one emulator of the process. Each call of one of its functions is of one thread of the host
/// at a time.
Device &gpu_emulator();

} // namespace tilewright

extern "C" {
/// What kernels for the emulator call. `axis`: 0, 1, 2 the block's number along x, y and z, 3, 4, 5
/// the thread's.
std::int32_t tilewright_gpu_index(std::int32_t axis);
void tilewright_gpu_barrier(std::int32_t number);
void *tilewright_gpu_shared(); ///< the block's shared memory
/// Before the thread reads (0), writes (1) or updates in one step (2) so many bytes of a buffer.
void tilewright_gpu_access(const void *address, std::int64_t bytes, std::int32_t buffer,
                           std::int32_t kind);
}
