// Scalars in memory become locals, whose values other passes can follow.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Makes scalars of the kernel's own locals: those that are set before each place where they are
/// read get one from there on, others one for the whole time that their memory is there.
///     best = empty(()); better = empty(())
///     for k in range(0, n):
///       better[()] = x[k] > best[()]
///       if better[()]: best[()] = x[k]
/// becomes
///     best = 0
///     for k in range(0, n):
///       better = x[k] > best
///       if better: best = x[k]
/// What threads share stays in memory.
void scalars_to_locals(Kernel &kernel);

} // namespace tilewright
