// Short tiles on a GPU keep their sums in registers, too.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// After separate_tiles, for targets whose threads skip what a condition forbids at next to no
/// cost: the loops of short tiles become copies under conditions, so that sums stay in registers
/// there, too.
///     for v in range(0, min(4, N - 4*i)): S(v)
/// becomes
///     if 0 < N - 4*i: S(0)
///     if 1 < N - 4*i: S(1) ...
StmtPtr unroll_short_tiles(const StmtPtr &body);

} // namespace tilewright
