// From the loop IR to LLVM IR for CPUs. emit_llvm makes one function `int32 SYMBOL(ptr data, ptr
// integers, ptr failure)` (runtime/abi.h) and one internal function for each parallel loop;
// optimise_light runs the short pass pipeline that is enough for code that is already vectorised
// and unrolled. Buffers never overlap: the caller guarantees it.
#pragma once

#include "loops/loop_ir.h"
#include "targets/gpu_target.h"
#include "targets/llvm/c_function.h"

#include <memory>
#include <string>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

struct EmitOptions {
  std::string symbol;     ///< of the kernel's entry; empty: kernel_symbol of its name
  std::string tuning;     ///< the CPU model whose timings are assumed; empty: the machine's own
  bool fast_math = false; ///< reassociation, contraction, reciprocals, approximate functions; NaN
                          ///< and infinity stay honest
  /// Parallel loops of little work run in the thread that meets them.
  bool threads_where_worthwhile = false;
  GpuTarget gpu; ///< where a kernel's launches run
  /// Long work asks tilewright_poll now and then whether to go on.
  bool is_interruptible = true;
};

/// The symbol of a kernel's entry: a prefix keeps a kernel called "exp" apart from the library's,
/// and the first digits of its key, where they are given, kernels of one name in a profile.
std::string kernel_symbol(const std::string &kernel_name, const std::string &key = "");

/// The module for `kernel`, verified. Throws Error(Internal) naming the kernel when the loop IR
/// makes no sense.
std::unique_ptr<llvm::Module> emit_llvm(const Kernel &kernel, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine, const EmitOptions &options);

/// The same with a function around the kernel that C programs call; the kernel itself is internal.
std::unique_ptr<llvm::Module> emit_llvm(const Kernel &kernel, const CFunction &interface,
                                        llvm::LLVMContext &context, llvm::TargetMachine &machine,
                                        const EmitOptions &options);

/// Scalar clean-up, loop-invariant code motion and promotion of accumulators to registers; no
/// vectoriser, no unroller.
void optimise_light(llvm::Module &module, llvm::TargetMachine &machine);

/// The same for what becomes PTX.
void optimise_for_gpu(llvm::Module &module, llvm::TargetMachine &machine);

/// LLVM's own pipeline for speed (O3), with its vectorisers and unroller: for scalar code. Takes
/// several times as long; `between_passes` is called now and then.
void optimise_full(llvm::Module &module, llvm::TargetMachine &machine, void (*between_passes)());

/// The PTX of a kernel's launches; empty where it has none.
std::string emit_ptx(const Kernel &kernel, llvm::LLVMContext &context, llvm::TargetMachine &machine,
                     EmitOptions options);

/// The textual IR of a module.
std::string print_llvm(const llvm::Module &module);

} // namespace tilewright
