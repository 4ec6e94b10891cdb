// Memory of one thread's own in a GPU's kernel. A buffer that a schedule has for the whole block,
// of which each thread touches its own part, becomes that part: what the subscripts have of the
// thread's number is left out, and places that are all known lie side by side.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"
#include "loops/traverse.h"

#include <map>

namespace tilewright {

/// `body`, what a thread does, with the kernel's private buffers as the thread has them. `threads`:
/// variables that depend on the thread's number; the axis whose number they are, or -1. Throws
/// Error(Schedule) where a thread's part is not the same everywhere or not of constant size.
StmtPtr shrink_private_buffers(const StmtPtr &body, Kernel &kernel, const Ranges &ranges,
                               const std::map<std::int64_t, int> &threads, Numbers &numbers);

} // namespace tilewright
