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

/// What a core's second-level cache has at least: Intel's since Skylake-SP (1 MiB), AMD's since Zen
/// 4, Arm's Neoverse V1 (1 MiB); older ones have half of it.
inline constexpr std::int64_t second_cache_bytes = 1024 * 1024;

/// What one core has of a last-level cache, about: 1.4 to 4 MiB in servers and desktops.
inline constexpr std::int64_t last_cache_share_bytes = 3 * 1024 * 1024;

} // namespace tilewright
