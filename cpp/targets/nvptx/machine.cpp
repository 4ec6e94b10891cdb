#include "targets/nvptx/machine.h"

#include "hardware/gpu.h"
#include "polyhedral/error.h"

#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>

#include <charconv>
#include <mutex>
#include <string_view>

namespace tilewright {

namespace {

constexpr const char *triple = "nvptx64-nvidia-cuda";

void initialise_target() {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
  });
}

/// The oldest version of PTX that knows the architecture, so that old drivers take it. The driver's
/// compiler refuses an architecture that came after the version.
std::string ptx_version(const GpuArchitecture &architecture, bool has_tiles) {
  return architecture.is_exact       ? "+ptx80"
         : architecture.number >= 89 ? "+ptx78"
         : architecture.number >= 87 ? "+ptx74"
         : architecture.number >= 86 ? "+ptx71"
         : architecture.number >= 80 ? "+ptx70"
         : has_tiles                 ? "+ptx65"
                                     : "+ptx63";
}

/// "sm_75, ..., sm_90 and sm_90a"
std::string known_architectures() {
  std::string all;
  for (const int number : gpu_architectures) {
    all += (all.empty() ? "" : ", ") + architecture_name({number});
  }
  return all + " and " + architecture_name({exact_architecture, true});
}

} // namespace

std::string architecture_name(const GpuArchitecture &architecture) {
  return "sm_" + std::to_string(architecture.number) + (architecture.is_exact ? "a" : "");
}

GpuArchitecture parse_architecture(const std::string &name) {
  constexpr std::string_view prefix = "sm_";
  GpuArchitecture architecture;
  if (name.starts_with(prefix)) {
    const char *end = name.data() + name.size();
    const auto [stop, problem] =
        std::from_chars(name.data() + prefix.size(), end, architecture.number);
    architecture.is_exact = std::string_view(stop, static_cast<size_t>(end - stop)) == "a";
    const bool is_known = problem == std::errc() && (stop == end || architecture.is_exact) &&
                          architecture.number >= oldest_architecture &&
                          supported_architecture(architecture.number) == architecture.number &&
                          (!architecture.is_exact || architecture.number == exact_architecture);
    if (is_known) {
      return architecture;
    }
  }
  throw Error(ErrorKind::Argument,
              "GPU architecture " + name + " is not known; known are " + known_architectures());
}

int supported_architecture(int architecture) {
  int newest = 0;
  for (const int known : gpu_architectures) {
    newest = known <= architecture ? known : newest;
  }
  return newest;
}

std::unique_ptr<llvm::TargetMachine> make_ptx_machine(const GpuArchitecture &architecture,
                                                      bool fast_math, bool has_tiles) {
  initialise_target();
  std::string problem;
  const llvm::Target *nvptx = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (nvptx == nullptr) {
    throw Error(ErrorKind::Internal,
                std::string("LLVM has no target for ") + triple + ": " + problem);
  }
  llvm::TargetOptions options;
  options.AllowFPOpFusion = fast_math ? llvm::FPOpFusion::Standard : llvm::FPOpFusion::Strict;
  std::unique_ptr<llvm::TargetMachine> machine(nvptx->createTargetMachine(
      triple, architecture_name(architecture), ptx_version(architecture, has_tiles), options,
      std::nullopt, std::nullopt, llvm::CodeGenOptLevel::Default));
  if (!machine) {
    throw Error(ErrorKind::Internal, "LLVM cannot make a target machine for PTX");
  }
  return machine;
}

} // namespace tilewright
