// The functions that code for the host calls in this library's runtime, as LLVM IR: a GPU has no
// library to call.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace tilewright {

/// Gives the declared ones among them bodies: powers of integers.
void define_library(llvm::Module &module);

} // namespace tilewright
