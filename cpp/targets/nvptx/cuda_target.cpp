#include "targets/nvptx/cuda_target.h"

#include "hardware/gpu.h"
#include "loops/gpu_queries.h"
#include "polyhedral/error.h"
#include "runtime/cpu.h"
#include "runtime/cuda_context.h"
#include "runtime/cuda_device.h"
#include "runtime/jit.h"
#include "targets/llvm/emitter.h"
#include "targets/llvm/llvm_target.h"
#include "targets/llvm/pipelines.h"
#include "targets/nvptx/lower.h"
#include "targets/nvptx/machine.h"

#include <fmt/format.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>

namespace tilewright {

namespace {

/// Throws Error(Schedule) where the GPU that code is made for lacks what the kernel needs.
void require_architecture(const Kernel &kernel, const GpuArchitecture &architecture) {
  std::string tile;
  const int least = least_architecture(kernel, &tile);
  if (architecture.number < least) {
    throw Error(ErrorKind::Schedule, "gpu_mma: tiles of " + tile + " need an NVIDIA GPU of sm_" +
                                         std::to_string(least) +
                                         " or newer, and code is asked for for sm_" +
                                         std::to_string(architecture.number) +
                                         "; tiles of 16 x 8 x 8 of float16 run from sm_75 on");
  }
}

class PtxCode : public DeviceCode {
public:
  std::unique_ptr<llvm::TargetMachine> machine(const Kernel &kernel, const std::string &device,
                                               bool fast_math) const override {
    const GpuArchitecture architecture = parse_architecture(device);
    require_architecture(kernel, architecture);
    return make_ptx_machine(architecture, fast_math, least_architecture(kernel) > 0);
  }
  bool is_on_host() const override { return false; }
  std::string finish(std::unique_ptr<llvm::Module> threads, llvm::TargetMachine &machine,
                     llvm::Module & /*host*/,
                     llvm::TargetMachine & /*host_machine*/) const override {
    lower_for_ptx(*threads);
    optimise_for_gpu(*threads, machine);
    return compile_to_ptx(*threads, machine);
  }
};

class CudaTarget : public LaunchTarget {
public:
  std::string_view name() const override { return "cuda"; }
  std::string default_device() const override { return architecture_name({oldest_architecture}); }

  TargetFeatures features(const TargetOptions &options) const override {
    TargetFeatures features;
    features.launches = true;
    features.asynchronous_copies =
        !options.device.empty() &&
        parse_architecture(options.device).number >= first_with_asynchronous_copies;
    return features;
  }

  std::string text(std::string_view form, const Kernel &kernel,
                   const TargetOptions &options) const override {
    if (form != "ptx") {
      return LlvmTarget::text(form, kernel, options);
    }
    if (!kernel.is_gpu) {
      return "";
    }
    return program(kernel, options).text;
  }

  DeviceProgram program(const Kernel &kernel, const TargetOptions &options) const {
    TargetOptions chosen = options;
    if (chosen.device.empty()) { // any that takes it
      chosen.device =
          architecture_name({std::max(oldest_architecture, least_architecture(kernel))});
    }
    const auto machine = make_target_machine(describe_cpu(options.cpu), options.fast_math);
    llvm::LLVMContext context;
    DeviceProgram made;
    emit_llvm(kernel, context, *machine, emit_options(chosen, device_code_maker()), &made);
    return made;
  }

  Device *first_device() const override { return &CudaDevice::get(0); }
  bool runs_on(const Device &device) const override {
    return dynamic_cast<const CudaDevice *>(&device) != nullptr;
  }
  std::string device_code(const Device &device) const override {
    const auto &cuda = dynamic_cast<const CudaDevice &>(device);
    const CudaProperties &has = cuda.context().properties();
    const int architecture = supported_architecture(10 * has.major + has.minor);
    if (architecture == 0) {
      throw Error(ErrorKind::Device,
                  fmt::format("{} has compute capability {}.{}, and kernels need {}.{} or newer",
                              device.name(), has.major, has.minor, oldest_architecture / 10,
                              oldest_architecture % 10));
    }
    return architecture_name({architecture});
  }

protected:
  const DeviceCode *device_code_maker() const override {
    static const PtxCode code;
    return &code;
  }
};

} // namespace

namespace {

const CudaTarget &the_target() {
  static const CudaTarget target;
  return target;
}

} // namespace

const Target &cuda_target() { return the_target(); }

DeviceProgram cuda_program(const Kernel &kernel, const TargetOptions &options) {
  return the_target().program(kernel, options);
}

} // namespace tilewright
