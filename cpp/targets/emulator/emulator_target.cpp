#include "targets/emulator/emulator_target.h"

#include "hardware/gpu.h"
#include "loops/gpu_queries.h"
#include "polyhedral/error.h"
#include "runtime/gpu_emulator.h"
#include "targets/emulator/lower.h"
#include "targets/llvm/llvm_target.h"
#include "targets/nvptx/machine.h"

#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Target/TargetMachine.h>

#include <vector>

namespace tilewright {

namespace {

class EmulatedCode : public DeviceCode {
public:
  /// The emulator takes every kernel; its threads have the layout of the oldest GPU's.
  std::unique_ptr<llvm::TargetMachine> machine(const Kernel &kernel, const std::string &device,
                                               bool fast_math) const override {
    return make_ptx_machine(parse_architecture(device), fast_math, least_architecture(kernel) > 0);
  }
  bool is_on_host() const override { return true; }
  std::string finish(std::unique_ptr<llvm::Module> threads, llvm::TargetMachine & /*machine*/,
                     llvm::Module &host, llvm::TargetMachine &host_machine) const override {
    lower_for_emulator(*threads, host_machine);
    std::vector<std::string> defined;
    for (const llvm::Function &function : *threads) {
      if (!function.isDeclaration() && !function.hasLocalLinkage()) {
        defined.push_back(function.getName().str());
      }
    }
    if (llvm::Linker::linkModules(host, std::move(threads))) {
      throw Error(ErrorKind::Internal, "the emulator's code cannot be linked to the host's");
    }
    for (const std::string &name : defined) {
      host.getFunction(name)->setLinkage(llvm::GlobalValue::InternalLinkage);
    }
    return "";
  }
};

class EmulatorTarget : public LaunchTarget {
public:
  std::string_view name() const override { return "gpu-emulator"; }
  std::string default_device() const override { return architecture_name({oldest_architecture}); }
  TargetFeatures features(const TargetOptions & /*options*/) const override {
    TargetFeatures features;
    features.launches = true;
    features.asynchronous_copies = true;
    return features;
  }
  Device *first_device() const override { return &gpu_emulator(); }
  bool runs_on(const Device &device) const override { return &device == &gpu_emulator(); }

protected:
  const DeviceCode *device_code_maker() const override {
    static const EmulatedCode code;
    return &code;
  }
};

} // namespace

const Target &emulator_target() {
  static const EmulatorTarget target;
  return target;
}

} // namespace tilewright
