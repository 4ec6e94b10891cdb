// What kernels call that a GPU has no instruction for, as LLVM IR: functions that code for the host
// calls in this library's runtime, and locks.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// bool (i32), of numbers below 32: whether the thread is that one of its warp.
constexpr const char *gpu_turn = "tilewright_gpu_turn";

/// void (ptr): one thread at a time is between the two of what shares the lock of an address. The
/// emulator, which runs one at a time, leaves them out.
constexpr const char *gpu_lock = "tilewright_gpu_lock";
constexpr const char *gpu_unlock = "tilewright_gpu_unlock";

/// Give the declared ones among them bodies: powers of integers, for devices and the emulator
/// alike, and locks.
void define_powers(llvm::Module &module);
void define_locks(llvm::Module &module);

} // namespace tilewright
