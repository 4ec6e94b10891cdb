// Tests that are the same in all iterations of a loop are asked once, outside of it.
#pragma once

#include "loops/linear.h"

namespace tilewright {

/// Moves tests that do not differ between a loop's iterations out of the loop: out of all loops
/// for which that is so. There tighten_guards may make them the bounds of a loop further out. What
/// is read for a test is read only where the loop has an iteration.
///     for p in range(0, K): for j in range(0, M): if row[i] <= p and p < row[i + 1] and j < q: S
/// becomes
///     for p in range(0, K):
///       if 0 < M:
///         if row[i] <= p and p < row[i + 1]: for j in range(0, M): if j < q: S
/// Tests of deeper levels follow where nothing is left of those before. Statements before a test
/// (Let, DeclareLocal, CheckIndex) leave with it; a check that differs between iterations stays,
/// and all tests behind it do. Loops over a GPU's blocks and threads lose index tests only, and
/// loops that run as one with the loop around them none. `known` gives the ranges of the
/// parameters.
StmtPtr lift_guards(const StmtPtr &body, const Ranges &known = {});

} // namespace tilewright
