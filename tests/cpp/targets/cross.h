// Code for processors that nobody here has: a kernel's assembly for AArch64 with NEON or SVE.
#pragma once

#include "loops/loop_ir.h"

#include <string>

namespace tilewright {

/// The assembly of `kernel` for AArch64 with `features` ("+neon", "+sve"). Throws Error(Internal)
/// when no code can be made.
std::string aarch64_assembly(const Kernel &kernel, const std::string &features, bool fast_math);

} // namespace tilewright
