// Which targets there are.
#include "polyhedral/error.h"
#include "targets/emulator/emulator_target.h"
#include "targets/llvm/llvm_target.h"
#include "targets/nvptx/cuda_target.h"
#include "targets/target.h"

namespace tilewright {

const std::vector<const Target *> &all_targets() {
  static const std::vector<const Target *> all = {&cpu_target(), &emulator_target(),
                                                  &cuda_target()};
  return all;
}

TargetSelection select_target(const std::string &name) {
  std::string known;
  for (const Target *target : all_targets()) {
    if (target->name() == name) {
      return {target, target->default_device()};
    }
    known += known.empty() ? "'" : target == all_targets().back() ? "' or '" : "', '";
    known += target->name();
  }
  throw Error(ErrorKind::Argument, "target must be " + known + "', not '" + name + "'");
}

const Target &Target::for_kernel(bool /*has_gpu_loops*/,
                                 const Instrumentation & /*watched*/) const {
  return *this;
}

Artifact Target::improve(const std::string & /*improvable*/,
                         const TargetOptions & /*options*/) const {
  throw Error(ErrorKind::Internal, "there is no better code for " + std::string(name()));
}

std::string TargetSelection::text() const {
  return std::string(target->name()) + (device.empty() ? "" : ":" + device);
}

std::string kernel_symbol(const std::string &kernel_name, const std::string &key) {
  constexpr size_t digits = 8;
  const std::string symbol = "tilewright_kernel_" + kernel_name;
  return key.empty() ? symbol : symbol + "_" + key.substr(0, digits);
}

} // namespace tilewright
