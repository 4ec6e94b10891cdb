// Better code for kernels that run already, which their target makes on the background thread. What
// comes out replaces the code in memory and the entry on disk; whatever goes wrong leaves both as
// they are and is kept as the kernel's problem.
#pragma once

#include "compiler/compiler.h"
#include "runtime/cache.h"

#include <memory>
#include <string>

namespace tilewright {

/// Whether LLVM's long pipeline may make a kernel faster.
bool may_improve(const Kernel &kernel);

/// Begins to improve the code of a kernel, and its entry in the cache, unless that has begun:
/// `entry` has what the target improves and the description.
void improve_later(const CompiledKernel &kernel, CacheEntry entry, std::string symbol,
                   const CompileOptions &options);

} // namespace tilewright
