// From an LLVM module to machine code in this process: the target machine of this CPU, object code
// as bytes, and bytes linked into memory by ORC. Knows no IR of ours. LLVM is initialised at the
// first need, so that importing costs nothing; every failure of LLVM is an Error(Internal). All
// functions may be called from any thread.
#pragma once

#include <memory>
#include <string>

namespace llvm {
class Module;
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// LLVM's name of a CPU and its feature string, "znver3" and "+avx2,+fma,...".
struct CpuDescription {
  std::string name;
  std::string features;
};

/// This machine; asked once.
const CpuDescription &host_cpu();

/// Features of `cpu` (LLVM's name); the host's with its real features when empty. Throws
/// Error(Argument) for a name that LLVM does not know.
CpuDescription describe_cpu(const std::string &cpu);

/// Throws Error(Argument) naming the features that code for `cpu` needs and this machine has not.
void require_runnable(const CpuDescription &cpu);

/// "19.1.7"
std::string llvm_version();

/// A target machine for `cpu`; `fast_math` lets the code generator fuse multiplications and
/// additions.
std::unique_ptr<llvm::TargetMachine> make_target_machine(const CpuDescription &cpu, bool fast_math);

/// Machine code of a module, as the bytes of a relocatable object file.
std::string compile_to_object(llvm::Module &module, llvm::TargetMachine &machine);

/// Assembly text of a module.
std::string compile_to_assembly(llvm::Module &module, llvm::TargetMachine &machine);

/// Code in memory, at the address of one function; freed with the last owner of `code`.
struct LoadedCode {
  void *address = nullptr;
  std::shared_ptr<void> code;
};

/// Links an object file and looks `symbol` up. The symbols of abi.h, libm and (where installed)
/// libmvec are known to it.
LoadedCode load_object(const std::string &object, const std::string &symbol);

/// Whether libmvec has this vector function ("_ZGVdN8v_sinf").
bool has_vector_function(const std::string &name);

} // namespace tilewright
