// Array contraction: a temporary of which each iteration of one loop has an element for itself
// becomes a scalar of the iteration. (Sarkar and Gao, Optimization of Array Accesses by Collective
// Loop Transformations, 1991.)
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Makes temporaries scalars of the iterations of an outermost loop, the only one in which they
/// are touched, each iteration its own element:
///     v = empty((n,))
///     for i in range(0, n):  # parallel
///       for j in range(0, m):
///         v[i] = ...
///         B[i, j] = v[i] * v[i]
/// becomes
///     for i in range(0, n):  # parallel
///       v = empty(())
///       for j in range(0, m):
///         v[()] = ...
///         B[i, j] = v[()] * v[()]
/// so that no memory is between the statements, and threads do not share a line of the cache.
void contract_arrays(Kernel &kernel);

} // namespace tilewright
