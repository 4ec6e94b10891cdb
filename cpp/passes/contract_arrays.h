// Array contraction: a temporary of which each iteration of one loop has an element for itself
// becomes a scalar of the iteration. (Sarkar and Gao, Optimization of Array Accesses by Collective
// Loop Transformations, 1991.)
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Makes temporaries scalars of the iterations of loops in which they are touched, each iteration
/// its own element:
///     v = empty((n,))
///     for t in range(0, T):
///       for i in range(0, n):  # parallel
///         v[i] = ...
///         for j in range(0, m):
///           B[i, j] = v[i] * v[i]
/// becomes
///     for t in range(0, T):
///       for i in range(0, n):  # parallel
///         v = empty(())
///         v[()] = ...
///         for j in range(0, m):
///           B[i, j] = v[()] * v[()]
/// Other iterations, such as those of t, may have the same element if each sets it before it reads
/// it. Elements may lie apart, as v[2 * i + 1] do. So no memory is between the statements, and
/// threads do not share a line of the cache.
void contract_arrays(Kernel &kernel);

} // namespace tilewright
