// Memory of one thread's own in a GPU's kernel. A buffer that a schedule has for the whole block,
// of which each thread touches its own part, becomes that part: what the subscripts have of the
// thread's number is left out, and places that are all known lie side by side.
#pragma once

#include "lowering/build.h"
#include "lowering/linear.h"
#include "lowering/loop_ir.h"

#include <map>

namespace tilewright {

/// `body`, what a thread does, with the kernel's private buffers as the thread has them. `threads`:
/// variables that depend on the thread's number; the axis whose number they are, or -1. Throws
/// Error(Schedule) where a thread's part is not the same everywhere or not of constant size.
StmtPtr shrink_private_buffers(const StmtPtr &body, Kernel &kernel, const Ranges &ranges,
                               const std::map<std::int64_t, int> &threads, Numbers &numbers);

/// Whether a buffer is in shared or private memory.
bool is_in_kernel(const KernelBuffer &buffer);

/// The constant size of a buffer in shared or private memory. Throws Error(Schedule) where it has
/// none.
std::int64_t local_bytes(const KernelBuffer &buffer);

} // namespace tilewright
