// Better code for kernels that run already: LLVM's long pipeline on the background thread. What
// comes out replaces the code in memory and the entry on disk; whatever goes wrong leaves both as
// they are and is kept as the kernel's problem.
#pragma once

#include "compiler/compiler.h"
#include "runtime/cache.h"

#include <memory>
#include <string>

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// Whether LLVM's long pipeline may make a kernel faster.
bool may_improve(const Kernel &kernel);

/// An LLVM module as bytes.
std::string encode_module(const llvm::Module &module);

/// Begins to improve `code`, the code of the cache entry `key`, unless that has begun: `entry` has
/// the module before any pass and the description.
void improve_later(const std::string &key, std::shared_ptr<KernelCode> code, CacheEntry entry,
                   std::string symbol, const CompileOptions &options);

} // namespace tilewright
