// Compiling in the main thread so that the handlers of signals need not wait for LLVM, which takes
// seconds for large kernels: a thread of its own compiles, and the main thread waits for it.
#pragma once

#include "compiler/compiler.h"

#include <memory>

namespace tilewright {

/// complete(prepared), to be called without the GIL. In the main thread, throws what a signal's
/// handler raises; the kernel is compiled to its end then, for whoever asks next.
std::shared_ptr<CompiledKernel> complete_interruptibly(PreparedKernel prepared);

} // namespace tilewright
