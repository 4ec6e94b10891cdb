// What kernels call that a GPU has no instruction for, as LLVM IR: functions that code for the host
// calls in this library's runtime, and locks.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// Give the declared ones among them bodies: powers of integers, for devices and the emulator
/// alike, and locks.
void define_powers(llvm::Module &module);
void define_locks(llvm::Module &module);

} // namespace tilewright
