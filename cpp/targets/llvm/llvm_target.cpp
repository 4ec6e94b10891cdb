#include "targets/llvm/llvm_target.h"

#include "algorithm/extern_function.h"
#include "loops/traverse.h"
#include "polyhedral/error.h"
#include "runtime/background.h"
#include "runtime/cpu.h"
#include "runtime/jit.h"
#include "targets/llvm/emitter.h"
#include "targets/llvm/pipelines.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

namespace tilewright {

namespace {

std::string encode_module(const llvm::Module &module) {
  std::string bytes;
  llvm::raw_string_ostream stream(bytes);
  llvm::WriteBitcodeToFile(module, stream);
  return bytes;
}

bool is_full(const TargetOptions &options) { return options.optimize == Optimization::Full; }

void optimise(llvm::Module &module, llvm::TargetMachine &machine, const TargetOptions &options) {
  if (is_full(options)) {
    optimise_full(module, machine, ForkGuard::pause);
  } else {
    optimise_light(module, machine);
  }
}

std::unique_ptr<llvm::TargetMachine> machine_of(const TargetOptions &options) {
  return make_target_machine(describe_cpu(options.cpu), options.fast_math);
}

} // namespace

const Target &cpu_target() {
  static const LlvmTarget target;
  return target;
}

std::string LlvmTarget::key(const TargetOptions &options) const {
  return "cpu " + describe_cpu(options.cpu).text();
}

TargetFeatures LlvmTarget::features(const TargetOptions &options) const {
  TargetFeatures features;
  features.masked_bytes = smallest_masked_element(describe_cpu(options.cpu));
  return features;
}

void LlvmTarget::require_callable(const TargetOptions &options) const {
  require_runnable(describe_cpu(options.cpu));
}

Artifact LlvmTarget::emit(const Kernel &kernel, const TargetOptions &options) const {
  Artifact artifact;
  artifact.symbol = options.symbol.empty() ? kernel_symbol(kernel.name) : options.symbol;
  const ForkGuard guard;
  const auto machine = machine_of(options);
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
  {
    const Phase phase(artifact.milliseconds, "emit");
    module = emit_llvm(kernel, context, *machine, emit_options(options, device_code_maker()));
    if (options.may_be_improved) {
      artifact.improvable = encode_module(*module);
    }
  }
  {
    const Phase phase(artifact.milliseconds, "optimise");
    optimise(*module, *machine, options);
  }
  const Phase phase(artifact.milliseconds, "codegen");
  artifact.object = compile_to_object(*module, *machine, is_full(options));
  return artifact;
}

Artifact LlvmTarget::improve(const std::string &improvable, const TargetOptions &options) const {
  const ForkGuard guard;
  const auto machine = machine_of(options);
  llvm::LLVMContext context;
  auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(improvable, options.symbol), context);
  if (!module) {
    throw Error(ErrorKind::Internal,
                "LLVM cannot read its own module: " + llvm::toString(module.takeError()));
  }
  optimise_full(**module, *machine, ForkGuard::pause);
  Artifact better;
  better.symbol = options.symbol;
  better.object = compile_to_object(**module, *machine, true);
  return better;
}

std::string LlvmTarget::text(std::string_view form, const Kernel &kernel,
                             const TargetOptions &options) const {
  const bool is_assembly = form == "assembly";
  if (!is_assembly && form != "llvm") {
    throw Error(ErrorKind::Argument, "the code for target '" + std::string(name()) +
                                         "' has no form '" + std::string(form) + "'");
  }
  const auto machine = machine_of(options);
  llvm::LLVMContext context;
  const auto module =
      emit_llvm(kernel, context, *machine, emit_options(options, device_code_maker()));
  optimise(*module, *machine, options);
  return is_assembly ? compile_to_assembly(*module, *machine, is_full(options))
                     : print_llvm(*module);
}

namespace {

/// What others link calls functions of C by their own names.
void name_externs(const Kernel &kernel, llvm::Module &module) {
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) {
      const auto *call = as<Extern>(value);
      llvm::Function *own =
          call == nullptr ? nullptr : module.getFunction(extern_symbol(*call->function));
      if (own == nullptr) {
        return;
      }
      if (llvm::Function *known = module.getFunction(call->function->name)) {
        own->replaceAllUsesWith(known);
        own->eraseFromParent();
      } else {
        own->setName(call->function->name);
      }
    });
  });
}

} // namespace

std::string emit_c_object(const Kernel &kernel, const CFunction &interface,
                          const TargetOptions &options) {
  const auto machine = machine_of(options);
  llvm::LLVMContext context;
  EmitOptions emit = emit_options(options, nullptr);
  emit.is_interruptible = false; // nobody to ask
  const auto module = emit_llvm(kernel, interface, context, *machine, emit);
  optimise(*module, *machine, options);
  name_externs(kernel, *module);
  return compile_to_object(*module, *machine, is_full(options));
}

// ---- targets with launches ----

const Target &LaunchTarget::for_kernel(bool has_gpu_loops, const Instrumentation &watched) const {
  // What is watched is watched on the CPU, which runs the same loops in order; times are taken
  // where the loops run.
  Instrumentation on_cpu = watched;
  on_cpu.times = false;
  return has_gpu_loops && on_cpu == Instrumentation{} ? static_cast<const Target &>(*this)
                                                      : cpu_target();
}

std::string LaunchTarget::key(const TargetOptions &options) const {
  return std::string(name()) + " " + options.device + " host " + LlvmTarget::key(options);
}

} // namespace tilewright
