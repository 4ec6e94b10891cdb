// Sums live in registers while the loop over their terms runs.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Keeps the elements that a serial loop stores in each iteration in locals while it runs, so that
/// the accumulators of a register tile stay in registers: a back end cannot tell that C[i, j] and
/// C[i + 1, j] differ when strides are only known at run time, the subscripts say so.
///     for k in ...: C[i, j] = C[i, j] + v
/// becomes
///     acc = C[i, j]
///     for k in ...: acc = acc + v
///     C[i, j] = acc
/// and `C[i, j] = 0` before the loop becomes acc = 0.
/// An element that lanes are summed into gets a vector (or several, which take turns) instead:
///     for k in ...: C[i] = C[i] + reduce(add, v)
/// becomes
///     acc = 0
///     for k in ...: acc = acc + v
///     C[i] = C[i] + reduce(add, acc)
/// Stores one after the other, as of a loop that was written out, are as the body of a loop that
/// runs once: what several of them store is a local.
StmtPtr promote_accumulators(const StmtPtr &body);

} // namespace tilewright
