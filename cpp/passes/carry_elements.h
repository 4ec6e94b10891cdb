// Scalar replacement across iterations: what a loop reads of its own last iterations stays in
// registers. (Callahan, Carr and Kennedy, Improving Register Allocation for Subscripted Variables,
// PLDI 1990.)
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Of elements that a serial loop stores in each iteration, those that so many of the next ones
/// read are kept in locals as well. The stores stay.
///     for n in range(2, N):
///       Y[n] = X[n] - Y[n - 2] - Y[n - 1]
/// becomes
///     if 2 < N:
///       last = Y[1]; last_2 = Y[0]
///       for n in range(2, N):
///         now = X[n] - last_2 - last
///         Y[n] = now
///         last_2 = last; last = now
/// A read waits for no store then, and memory is read once less. Short loops inside, of constant
/// extents, are written out where that makes such elements (the sections of a cascade of filters).
/// What is read under a condition alone is not read before the loop.
StmtPtr carry_elements(const StmtPtr &body);

} // namespace tilewright
