// From loops over blocks and threads to what one thread does: the last pass for a GPU. In each
// launch, loops over blocks become the block's number, loops over threads the iterations that are
// the thread's own, spread loops a share of them all; what is in no loop over some axis is done by
// thread 0 there. Private buffers shrink to one thread's part of them.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"

namespace tilewright {

/// `known`: the ranges of the parameters. Throws Error(Schedule) where a grid's extent is not known
/// before the launch, or a thread's part of a private buffer is not of constant size.
void map_launches(Kernel &kernel, const Ranges &known);

} // namespace tilewright
