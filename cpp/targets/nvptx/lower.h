// From the threads' module (targets/llvm/device_code.h) to PTX for NVIDIA's GPUs: the emitter's
// calls become the special registers, the barrier instruction, shared memory, asynchronous copies
// and tensor cores.
#pragma once

#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// Puts the machine's own instructions for the emitter's calls.
void lower_for_ptx(llvm::Module &module);

/// PTX text of a lowered module. Throws Error(Internal) where LLVM has no instruction for
/// something.
std::string compile_to_ptx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tilewright
