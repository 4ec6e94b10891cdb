// The functions that the emitter calls in the code of threads beside those of
// runtime/gpu_emulator.h: a device puts instructions in their place, or has them (device_code.h).
#pragma once

#include "mapping/mma_shapes.h"

#include <array>
#include <string>

namespace tilewright {

/// bool (i32), of numbers below 32: whether the thread is that one of its warp.
inline constexpr const char *gpu_turn = "tilewright_gpu_turn";

/// void (ptr): one thread at a time is between the two of what shares the lock of an address. The
/// emulator, which runs one at a time, leaves them out.
inline constexpr const char *gpu_lock = "tilewright_gpu_lock";
inline constexpr const char *gpu_unlock = "tilewright_gpu_unlock";

/// Of a warp's tile: of a thread's registers of 32 bits and its four sums, those after.
std::string mma_function(MmaShape shape);

/// float -> the bits of the nearest tf32 (ties away from zero).
inline constexpr const char *tf32_function = "tilewright_gpu_tf32";

/// A thread's elements of so many factors in shared memory; of the address and the buffer's number.
std::string matrices_function(int count, bool transposed);
inline constexpr std::array numbers_of_matrices = {1, 2, 4};

} // namespace tilewright
