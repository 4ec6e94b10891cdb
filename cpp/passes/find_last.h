// The last iteration in which something holds is looked for from behind.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// A serial loop that does nothing but set locals under one test, to what no iteration before has
/// to do with, runs one iteration, the last one in which the test holds:
///     for i in range(a, b):
///       if x[i] < 0: at = i
/// becomes
///     back = 0
///     while back < vectors and no lane of x[b - (back + 1) * lanes : ...] < 0: back = back + 1
///     if back < vectors: at = the last i of these with x[i] < 0
/// What the test reads lies side by side. The last vector that is asked has the first iterations,
/// some of which may be in the one before, too.
StmtPtr find_last(const StmtPtr &body);

} // namespace tilewright
