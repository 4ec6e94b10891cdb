// From the LLVM IR of kernels to PTX for NVIDIA's GPUs, or to functions for the emulator. The
// emitter writes kernels once, with calls of tilewright_gpu_index, _barrier and _shared
// (runtime/gpu_emulator.h): for PTX these become the special registers, the barrier instruction and
// shared memory; for the emulator they stay, and every access tells it first.
#pragma once

#include "targets/gpu_target.h"

#include <cstdint>
#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// Of the metadata that accesses of kernels carry: the buffer's number.
inline constexpr const char *buffer_metadata = "tilewright.buffer";

/// The newest architecture known here whose code a device of this one (75 for 7.5) runs; 0 where
/// there is none.
int supported_architecture(int architecture);

/// Throws Error(Argument) for an architecture that is not known here.
/// `has_tiles`: products of tensor cores are in the code (they need PTX 6.5).
std::unique_ptr<llvm::TargetMachine> make_ptx_machine(const GpuTarget &target, bool fast_math,
                                                      bool has_tiles = false);

/// Puts the machine's own instructions for the emitter's calls.
void lower_for_ptx(llvm::Module &module);

/// Makes the module, which came from a PTX machine's, one of the host, whose accesses are watched.
void lower_for_emulator(llvm::Module &module, const llvm::TargetMachine &host);

/// PTX text of a bound module. Throws Error(Internal) where LLVM has no instruction for something.
std::string compile_to_ptx(llvm::Module &module, llvm::TargetMachine &machine);

} // namespace tilewright
