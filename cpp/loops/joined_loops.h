// Parallel loops that run as one (parallelize with several loops): their iterations are counted
// through, so nothing may stand between them and the bounds of one may not depend on another. Asked
// once, after the index arithmetic is in its short form; the loop passes keep it so.
#pragma once

#include "loops/loop_ir.h"

#include <vector>

namespace tilewright {

/// `head`, a Parallel loop, and those inside that run as one with it, outermost first.
std::vector<const For *> joined_loops(const For &head);

/// Does something else stand beside a loop, in the loop with which it is to run as one? Conditions
/// between them count for nothing: they may still leave. For loops that were made just now.
bool stand_beside_others(const Kernel &kernel);

/// Throws Error(Schedule) naming the loops that were to run as one and what forbids it.
void check_joined_loops(const Kernel &kernel);

} // namespace tilewright
