// What begins and ends a block of sums is done row by row, beside its first and its last terms.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"

namespace tilewright {

/// Where the terms of a reduction are cut into blocks, all rows of a tile get their first values
/// before the loop over blocks, and what becomes of their sums after it, each in a nest of its own
/// that goes over the whole tile:
///     for i in range(0, R): C[i] = 0
///     for b in range(0, B):
///         [pack]
///         for i in range(0, R): for k in ...: C[i] = C[i] + ...
///     for i in range(0, R): C[i] = f(C[i])
/// becomes
///     if 0 < B:
///         for b in range(0, B):
///             [pack]
///             for i in range(0, R):
///                 if b == 0: C[i] = 0
///                 for k in ...: C[i] = C[i] + ...
///                 if b + 1 == B: C[i] = f(C[i])
///     else: the two nests
/// so that a tile is not loaded and stored once more at either end: of a product with few terms
/// that takes half of the time. Different iterations of `i` touch different elements, as one of
/// their subscripts says, so that all elements get the same operations in the same order.
StmtPtr fuse_block_ends(const StmtPtr &body, const Ranges &known);

} // namespace tilewright
