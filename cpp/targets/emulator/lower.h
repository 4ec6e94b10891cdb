// From the threads' module, which came from a PTX machine's, to functions for the GPU emulator: the
// emitter's calls stay, those that the emulator need not know go, and every access of memory that
// is not the thread's own tells it first.
#pragma once

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// Makes it a module of the host.
void lower_for_emulator(llvm::Module &module, const llvm::TargetMachine &host);

} // namespace tilewright
