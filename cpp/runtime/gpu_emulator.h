// A GPU on the host: the kernels' own code, one fibre for each thread of a block, blocks one after
// the other. It finds what a GPU would not say: accesses outside their memory, threads that touch
// one element with no barrier between (or blocks that do), barriers that not all threads of a block
// come to, or exchanges that not all of a warp do, addresses that are no multiples of what they are
// taken to be, and what is touched while it is copied. What it finds ends the launch with an
// Error(Device) that names both accesses. For tests and for finding mistakes; it is some hundred
// times slower than the CPU's own code.
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
/// The threads of a warp come to this together: each gives so many bytes and gets those of all 32
/// lanes in their order. The bytes of lanes that the block's last warp lacks mean nothing. It
/// orders no accesses to memory.
void tilewright_gpu_exchange(std::int32_t number, const void *own, std::int64_t bytes, void *all);
/// The value of the lane whose number differs in the bits of `mask`.
std::int32_t tilewright_gpu_shuffle(std::int32_t number, std::int32_t value, std::int32_t mask);
void *tilewright_gpu_shared(); ///< the block's shared memory
/// Before the thread reads (0), writes (1) or updates in one step (2) so many bytes of a buffer, at
/// an address that the code takes for a multiple of `alignment`.
void tilewright_gpu_access(const void *address, std::int64_t bytes, std::int32_t buffer,
                           std::int32_t kind, std::int32_t alignment);
/// cp.async: so many bytes of a buffer to shared memory, where they arrive no sooner than the
/// thread waits for them; until then there is a pattern.
void tilewright_gpu_copy(void *to, const void *from, std::int32_t bytes, std::int32_t buffer,
                         std::int32_t source);
void tilewright_gpu_commit(); ///< what the thread has copied since the last one is a group
void tilewright_gpu_wait(std::int32_t groups); ///< for all groups of the thread but the last ones
}
