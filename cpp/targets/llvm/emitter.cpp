// A kernel's module: the host's code, the threads' code where there are launches, and what a target
// makes of that.
#include "targets/llvm/emitter.h"

#include "algorithm/repeated_parts.h"
#include "loops/traverse.h"
#include "polyhedral/error.h"
#include "runtime/cpu.h"
#include "targets/llvm/c_interface.h"
#include "targets/llvm/host_emitter.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
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
    target.has_exp2 = !given.threads->is_on_host(); // the emulator's code runs on a CPU in the end
    target.is_inlined = target.has_exp2;
    emitter.emplace(kernel, *module, options, target);
  }

  std::unique_ptr<llvm::TargetMachine> machine;
  std::unique_ptr<llvm::Module> module;
  EmitOptions options;
  std::optional<ThreadEmitter> emitter;
};

/// Has a value a quotient, a root or an elementary function, which vectors have at once?
bool gains_by_lanes(const ValuePtr &root) {
  bool found = false;
  visit_value(root, [&](const Value &value) {
    const auto *call = as<Call>(value);
    found |= is_binary(value, Op::TrueDiv) || is_binary(value, Op::Pow) ||
             (call != nullptr && (call->op == Op::Sqrt || is_elementary(call->op)));
  });
  return found;
}

/// Does a condition on data decide about a store of what is soon computed by itself? In a vector,
/// that is a scatter under a mask unless the elements lie side by side.
bool stores_by_data(const Kernel &kernel) {
  bool found = false;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    const auto *decision = as<If>(statement);
    if (found || decision == nullptr) {
      return;
    }
    bool reads = false;
    visit_value(decision->condition, [&](const Value &value) {
      reads |= value.kind == ValueKind::Load || value.kind == ValueKind::Local;
    });
    for (size_t k = 0; reads && k < decision->children.size(); ++k) {
      visit_statements(decision->children[k], [&](const LoopStatement &inside) {
        const auto *change = as<ElementChange>(inside);
        found |= change != nullptr && !gains_by_lanes(change->value);
      });
    }
  });
  return found;
}

bool has_scatters(const llvm::Module &module) {
  return std::any_of(module.begin(), module.end(), [](const llvm::Function &function) {
    return function.getIntrinsicID() == llvm::Intrinsic::masked_scatter;
  });
}

/// What LLVM is to assume of the machine's timings. It takes scatters under masks for cheap, and
/// makes vectors of loops that take half the time element by element. Scatters that we emit stay:
/// a schedule has asked for those vectors.
void tune(llvm::Module &module, const Kernel &kernel, const llvm::TargetMachine &machine,
          const EmitOptions &options) {
  std::string features;
  if (machine.getTargetTriple().isX86() && stores_by_data(kernel) && !has_scatters(module)) {
    features = machine.getTargetFeatureString().str();
    features += features.empty() ? "+prefer-no-scatter" : ",+prefer-no-scatter";
  }
  for (llvm::Function &function : module) {
    if (function.isDeclaration()) {
      continue;
    }
    if (!options.tuning.empty()) {
      function.addFnAttr("tune-cpu", options.tuning);
    }
    if (!features.empty()) {
      function.addFnAttr("target-features", features);
    }
  }
}

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
  tune(*module, kernel, machine, options);
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
