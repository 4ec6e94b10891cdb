// Facts about CPUs, each stated once. What one machine has (its vectors, masks, matrix products) is
// asked of LLVM instead: runtime/cpu.h.
#pragma once

#include <cstdint>

namespace tilewright {

/// Of x86-64, and of nearly all AArch64: Intel's Software Developer's Manual, volume 1, 11.1; Arm's
/// Cortex and Neoverse technical reference manuals.
inline constexpr std::int64_t cache_line_bytes = 64;

/// A register of AVX-512, the widest vector that is known here.
inline constexpr std::int64_t widest_vector_bytes = 64;

} // namespace tilewright
