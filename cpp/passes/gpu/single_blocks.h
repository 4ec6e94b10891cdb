// Loops over blocks of a GPU that have one iteration.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Takes out the loops over blocks along an axis where each of a kernel's has the one iteration 0:
/// its grid has one block there, whoever says so. isl leaves such loops out, and what says which
/// block runs a statement then stands around the statement itself, inside loops over threads, in
/// the way of vectors and of registers for sums.
///     for d0 in range(0, 1):  # gpu_block_x
///       Y_local[i, d] = ... Y_cache[d0, d]
/// becomes
///     Y_local[i, d] = ... Y_cache[0, d]
void take_out_single_blocks(Kernel &kernel);

} // namespace tilewright
