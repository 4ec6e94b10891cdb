// A kernel's module: the host's code, the threads' code where there are launches, and what a target
// makes of that.
#include "targets/llvm/emitter.h"

#include "polyhedral/error.h"
#include "runtime/cpu.h"
#include "targets/llvm/c_interface.h"
#include "targets/llvm/host_emitter.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <optional>

namespace tilewright {

namespace {

/// Throws Error(Internal) where LLVM finds fault with the module.
void require_valid(const llvm::Module &module, const Kernel &kernel) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) {
    throw Error(ErrorKind::Internal,
                "kernel '" + kernel.name + "': the emitted LLVM IR is malformed: " + problem);
  }
}

std::unique_ptr<llvm::Module> empty_module(const Kernel &kernel, llvm::LLVMContext &context,
                                           llvm::TargetMachine &machine) {
  auto module = std::make_unique<llvm::Module>(kernel.name, context);
  module->setTargetTriple(machine.getTargetTriple().str());
  module->setDataLayout(machine.createDataLayout());
  return module;
}

/// What the threads of a kernel's launches do, as a module of its own.
struct ThreadsModule {
  ThreadsModule(const Kernel &kernel, llvm::LLVMContext &context, const EmitOptions &given)
      : machine(given.threads->machine(kernel, given.device, given.fast_math)),
        module(empty_module(kernel, context, *machine)), options(given) {
    options.is_interruptible = false;
    options.tuning.clear();
    MathTarget target;
    target.has_fma = true;
    target.has_library = false;
    emitter.emplace(kernel, *module, options, target);
  }

  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  EmitOptions options;
  std::optional<ThreadEmitter> emitter;
};

std::unique_ptr<llvm::Module> emit_module(const Kernel &kernel, const CFunction *interface,
                                          llvm::LLVMContext &context, llvm::TargetMachine &machine,
                                          const EmitOptions &options, DeviceProgram *device) {
  std::unique_ptr<llvm::Module> module = empty_module(kernel, context, machine);
  try {
    HostEmitter emitter(kernel, *module, options, math_target(machine));
    std::optional<ThreadsModule> threads;
    if (kernel.is_gpu && options.threads != nullptr) {
      threads.emplace(kernel, context, options);
      emitter.set_threads(*threads->emitter);
    }
    emitter.emit();
    if (interface != nullptr) {
      CInterface(kernel, *module, options, math_target(machine)).emit(*interface);
    }
    if (threads) {
      require_valid(*threads->module, kernel);
      const bool is_on_host = options.threads->is_on_host();
      std::string text =
          options.threads->finish(std::move(threads->module), *threads->machine, *module, machine);
      emitter.emit_device_kernels(is_on_host ? nullptr : &text);
      if (device != nullptr) {
        *device = {std::move(text), emitter.launches()};
      }
    }
  } catch (const Error &error) {
    throw Error(error.kind, "kernel '" + kernel.name + "': " + error.what(), error.where);
  }
  if (!options.tuning.empty()) {
    for (llvm::Function &function : *module) {
      if (!function.isDeclaration()) {
        function.addFnAttr("tune-cpu", options.tuning);
      }
    }
  }
  require_valid(*module, kernel);
  return module;
}

} // namespace

EmitOptions emit_options(const TargetOptions &options, const DeviceCode *threads) {
  EmitOptions emit;
  emit.symbol = options.symbol;
  emit.tuning = describe_cpu(options.cpu).tuning;
  emit.fast_math = options.fast_math;
  emit.threads = threads;
  emit.device = options.device;
  return emit;
}

std::unique_ptr<llvm::Module> emit_llvm(const Kernel &kernel, llvm::LLVMContext &context,
                                        llvm::TargetMachine &machine, const EmitOptions &options,
                                        DeviceProgram *device) {
  return emit_module(kernel, nullptr, context, machine, options, device);
}

std::unique_ptr<llvm::Module> emit_llvm(const Kernel &kernel, const CFunction &interface,
                                        llvm::LLVMContext &context, llvm::TargetMachine &machine,
                                        const EmitOptions &options) {
  return emit_module(kernel, &interface, context, machine, options, nullptr);
}

std::string print_llvm(const llvm::Module &module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, nullptr);
  return text;
}

} // namespace tilewright
