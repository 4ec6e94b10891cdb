// From the loop IR to LLVM IR. emit_llvm makes one function `int32 SYMBOL(ptr data, ptr integers,
// ptr record)` (runtime/abi.h), one internal function for each parallel loop, and what
// device_code.h says of launches. Buffers never overlap: the caller guarantees it.
#pragma once

#include "loops/loop_ir.h"
#include "targets/llvm/c_function.h"
#include "targets/llvm/device_code.h"
#include "targets/llvm/device_program.h"
#include "targets/target.h"

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
  /// What becomes of the threads of launches; null: there are no launches.
  const DeviceCode *threads = nullptr;
  std::string device; ///< of `threads`
  /// Long work asks tilewright_poll now and then whether to go on.
  bool is_interruptible = true;
};

EmitOptions emit_options(const TargetOptions &options, const DeviceCode *threads);

/// The module for `kernel`, verified; `device` becomes what other host code needs of its launches.
/// Throws Error(Internal) naming the kernel when the loop IR makes no sense.
std::unique_ptr<llvm::Module> emit_llvm(const Kernel &kernel, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine, const EmitOptions &options,
                                        DeviceProgram *device = nullptr);

/// The same with a function around the kernel that C programs call; the kernel itself is internal.
std::unique_ptr<llvm::Module> emit_llvm(const Kernel &kernel, const CFunction &interface,
                                        llvm::LLVMContext &context, llvm::TargetMachine &machine,
                                        const EmitOptions &options);

/// The object file of such a module: for programs without this library.
std::string emit_c_object(const Kernel &kernel, const CFunction &interface,
                          const TargetOptions &options);

/// The textual IR of a module.
std::string print_llvm(const llvm::Module &module);

} // namespace tilewright
