#include "targets/cross.h"

#include "polyhedral/error.h"
#include "runtime/jit.h"
#include "targets/llvm/emitter.h"
#include "targets/llvm/pipelines.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

namespace tilewright {

std::string aarch64_assembly(const Kernel &kernel, const std::string &features, bool fast_math) {
  static const bool known = [] {
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    return true;
  }();
  const std::string triple = "aarch64-unknown-linux-gnu";
  std::string problem;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (!known || target == nullptr) {
    throw Error(ErrorKind::Internal, problem);
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = fast_math ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  const std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, "generic", features, options, llvm::Reloc::PIC_,
                                  llvm::CodeModel::Small, llvm::CodeGenOptLevel::Default, true));
  llvm::LLVMContext context;
  EmitOptions emit;
  emit.fast_math = fast_math;
  const auto module = emit_llvm(kernel, context, *machine, emit);
  optimise_light(*module, *machine);
  return compile_to_assembly(*module, *machine, false);
}

} // namespace tilewright
