// From an LLVM module to machine code in this process: the target machine of this CPU, object code
// as bytes, and bytes linked into memory by ORC. Knows no IR of ours. LLVM is initialised at the
// first need, so that importing costs nothing; every failure of LLVM is an Error(Internal). All
// functions may be called from any thread.
#pragma once

#include "runtime/cpu.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// "19.1.7"
std::string llvm_version();

/// A target machine for `cpu` (its tuning is an attribute of each function: EmitOptions);
/// `fast_math` lets the code generator fuse the multiplications and additions that allow it.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuDescription &cpu, bool fast_math);

/// Machine code of a module, as the bytes of a relocatable object file. `reduce_strength`: also for
/// address arithmetic that was not written as increments.
std::string compile_to_object(llvm::Module &module, llvm::TargetMachine &machine,
                              bool reduce_strength);

/// Assembly text of a module.
std::string compile_to_assembly(llvm::Module &module, llvm::TargetMachine &machine,
                                bool reduce_strength);

/// Code in memory, at the address of one function; freed with the last owner of `code`.
struct LoadedCode {
  void *address = nullptr;
  std::shared_ptr<void> code;
};

/// Names and addresses.
using HostSymbols = std::vector<std::pair<std::string, void *>>;

/// Links an object file and looks `symbol` up. The symbols of abi.h and libm are known to
/// it, and `others`: functions of the caller's, for this object alone.
LoadedCode load_object(const std::string &object, const std::string &symbol,
                       const HostSymbols &others = {});

} // namespace tilewright
