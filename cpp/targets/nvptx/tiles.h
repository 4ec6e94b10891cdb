// Products of warps' tiles in a kernel's LLVM IR. The emitter calls tilewright_gpu_mma_<shape> with
// a thread's registers and gets its four sums, and tilewright_gpu_matrices... for its elements of
// factors in shared memory; for PTX this becomes the tensor cores' instruction,
// for the emulator a call with the registers in memory, which the warp's threads come to together.
#pragma once

#include "mapping/mma_shapes.h"

#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// Of the function that the emitter calls, of registers of 32 bits and four sums.
std::string mma_function(MmaShape shape);
/// float -> the bits of the nearest tf32 (ties away from zero).
inline constexpr const char *tf32_function = "tilewright_gpu_tf32";

/// Of one, two or four matrices in shared memory; the address and the buffer's number.
std::string matrices_function(int count, bool transposed);

void lower_tiles_for_ptx(llvm::Module &module);
void lower_tiles_for_emulator(llvm::Module &module);

} // namespace tilewright
