#include "runtime/cpu.h"

#include "polyhedral/error.h"
#include "runtime/jit.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <set>

namespace tilewright {

namespace {

constexpr std::array levels = {"x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"};

/// What generated code gains from beyond its level: matrix and dot products of narrow types,
/// conversions to and arithmetic in half precision, permutations of bytes, scalable vectors.
constexpr std::array extensions_x86 = {"avx512bf16", "avx512fp16", "avx512vbmi", "avx512vnni",
                                       "avxvnni"};
constexpr std::array extensions_aarch64 = {"bf16", "dotprod", "fullfp16", "i8mm", "sve", "sve2"};

bool is_x86() {
  return llvm::Triple(llvm::sys::getProcessTriple()).getArch() == llvm::Triple::x86_64;
}

bool is_level(const std::string &name) {
  return std::find(levels.begin(), levels.end(), name) != levels.end();
}

/// Whether a machine with these features has all of a level; what LLVM does not ask machines for
/// ("x87") they all have.
bool has_level(const llvm::StringMap<bool> &features, const char *level) {
  llvm::SmallVector<llvm::StringRef> needed;
  llvm::X86::getFeaturesForCPU(level, needed);
  return std::all_of(needed.begin(), needed.end(), [&](llvm::StringRef feature) {
    const auto found = features.find(feature);
    return found == features.end() || found->getValue();
  });
}

CpuDescription find_host() {
  const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  CpuDescription cpu;
  cpu.name = is_x86() ? levels.back() : "generic";
  cpu.tuning = host_model();
  const auto add = [&](const char *feature) {
    if (features.lookup(feature)) {
      cpu.features += std::string(cpu.features.empty() ? "+" : ",+") + feature;
    }
  };
  if (is_x86()) {
    cpu.name = *std::find_if(levels.begin(), levels.end() - 1,
                             [&](const char *level) { return has_level(features, level); });
    std::for_each(extensions_x86.begin(), extensions_x86.end(), add);
  } else {
    std::for_each(extensions_aarch64.begin(), extensions_aarch64.end(), add);
  }
  return cpu;
}

} // namespace

/// A loop with fewer iterations than the vectors of a step hold (four of eight lanes) goes one by
/// one unless LLVM makes a second, narrower vector loop, which it does only for sixteen lanes and
/// more by itself.
static void make_narrow_vector_loops() {
  const auto &options = llvm::cl::getRegisteredOptions();
  const auto found = options.find("epilogue-vectorization-minimum-VF");
  if (found != options.end()) {
    static_cast<llvm::cl::opt<unsigned> *>(found->second)->setValue(8);
  }
}

void initialise_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    llvm::InitializeNativeTarget();
    llvm::InitializeNativeTargetAsmPrinter();
    llvm::InitializeNativeTargetAsmParser();
    make_narrow_vector_loops();
  });
}

const std::string &host_model() {
  static const std::string model = llvm::sys::getHostCPUName().str();
  return model;
}

const CpuDescription &host_cpu() {
  static const CpuDescription cpu = find_host();
  return cpu;
}

CpuDescription describe_cpu(const std::string &cpu) {
  if (cpu.empty() || cpu == "native") {
    return host_cpu();
  }
  if (is_x86() && is_level(cpu)) {
    return {cpu, "", host_model()};
  }
  initialise_llvm();
  std::string problem;
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  if (target == nullptr) {
    throw Error(ErrorKind::Internal, "LLVM has no target for " + triple + ": " + problem);
  }
  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      target->createMCSubtargetInfo(triple, "", ""));
  if (!subtarget || !subtarget->isCPUStringValid(cpu)) {
    throw Error(ErrorKind::Argument, "unknown CPU '" + cpu + "'; LLVM " + llvm_version() + " on " +
                                         triple + " knows levels such as 'x86-64-v3' and models " +
                                         "such as '" + host_model() + "'");
  }
  return {cpu, "", ""};
}

namespace {

llvm::Triple::ArchType architecture_of_process() {
  return llvm::Triple(llvm::sys::getProcessTriple()).getArch();
}

/// What LLVM knows of `cpu`; null if it has no target for this process.
std::unique_ptr<llvm::MCSubtargetInfo> subtarget_of(const CpuDescription &cpu) {
  initialise_llvm();
  std::string problem;
  const std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, problem);
  return std::unique_ptr<llvm::MCSubtargetInfo>(
      target == nullptr ? nullptr : target->createMCSubtargetInfo(triple, cpu.name, cpu.features));
}

} // namespace

bool has_fused_multiply_add(const CpuDescription &cpu) {
  const auto subtarget = subtarget_of(cpu);
  const llvm::Triple::ArchType architecture = architecture_of_process();
  return subtarget && (architecture == llvm::Triple::aarch64 ||
                       (architecture == llvm::Triple::x86_64 && subtarget->checkFeatures("+fma")));
}

int smallest_masked_element(const CpuDescription &cpu) {
  const auto subtarget = subtarget_of(cpu);
  const llvm::Triple::ArchType architecture = architecture_of_process();
  if (!subtarget) {
    return 0;
  }
  if (architecture == llvm::Triple::x86_64) {
    return subtarget->checkFeatures("+avx512bw,+avx512vl") ? 1
           : subtarget->checkFeatures("+avx2")             ? 4
                                                           : 0;
  }
  return architecture == llvm::Triple::aarch64 && subtarget->checkFeatures("+sve") ? 1 : 0;
}

void require_runnable(const CpuDescription &cpu) {
  if (cpu.text() == host_cpu().text()) {
    return;
  }
  static std::mutex mutex;
  static std::set<std::string> known;
  const std::lock_guard lock(mutex);
  if (known.contains(cpu.text())) {
    return;
  }
  const auto machine = make_target_machine(cpu, false);
  std::string missing;
  for (const auto &feature : llvm::sys::getHostCPUFeatures()) {
    if (!feature.getValue() &&
        machine->getMCSubtargetInfo()->checkFeatures("+" + feature.getKey().str())) {
      missing += (missing.empty() ? "" : ", ") + feature.getKey().str();
    }
  }
  if (!missing.empty()) {
    throw Error(ErrorKind::Argument, "code for '" + cpu.name + "' cannot run on this machine ('" +
                                         host_model() + "'), which lacks: " + missing);
  }
  known.insert(cpu.text());
}

} // namespace tilewright
