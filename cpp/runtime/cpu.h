// Processors as code generation sees them. "native" is not this very model but the level it belongs
// to (x86-64, -v2: SSE4, -v3: AVX2 and FMA, -v4: AVX-512; AArch64 with NEON) and the few extensions
// that generated code gains from. So machines of one level find each other's kernels in a shared
// cache, and none finds code that it cannot run. The model only tunes: it orders instructions, and
// is not part of the description by which kernels are found.
#pragma once

#include <string>

namespace tilewright {

struct CpuDescription {
  std::string name;     ///< LLVM's: a level such as "x86-64-v3", or a model such as "znver3"
  std::string features; ///< beyond those of the name: "+avx512bf16,+avx512vnni"
  std::string tuning;   ///< the model whose timings are assumed; empty: that of the name

  /// What code may use; machines that run it find it under this text.
  std::string text() const { return features.empty() ? name : name + "," + features; }
};

/// Makes LLVM's targets of this process known; cheap after the first time.
void initialise_llvm();

/// The level of this machine; asked once.
const CpuDescription &host_cpu();

/// LLVM's name of this machine's model: "znver3".
const std::string &host_model();

/// `cpu` is a level, a model, or empty or "native" for this machine. Throws Error(Argument) for a
/// name that LLVM does not know.
CpuDescription describe_cpu(const std::string &cpu);

/// Throws Error(Argument) naming the features that code for `cpu` needs and this machine has not.
void require_runnable(const CpuDescription &cpu);

/// The smallest element, in bytes, of which `cpu` loads and stores vectors under a mask in one
/// step; 0 where it has no masks.
int smallest_masked_element(const CpuDescription &cpu);

/// Whether `cpu` has an instruction for a * b + c with one rounding.
bool has_fused_multiply_add(const CpuDescription &cpu);

} // namespace tilewright
