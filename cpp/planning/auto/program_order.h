// The planner for programs that overwrite the caller's arrays: it keeps each value where the
// program stores it, begins with the program's order, and makes that order better nest by nest. An
// element that a loop adds to in place gets its terms in the order that it had, so sums keep their
// bits; what changes is which elements are summed side by side: in vectors along a column, in
// register tiles over rows and columns, or, where terms lie side by side and no vector can be made
// without another order of them, several rows at once. Loops are distributed and interchanged where
// that makes such loops possible, and only so far. After Goto and van de Geijn (2008) for the
// tiles; distribution as in Kennedy and McKinley, Maximizing Loop Parallelism and Improving Data
// Locality (1993).
#pragma once

#include "planning/auto/auto_schedule.h"

namespace tilewright {

/// `given`, a whole order by set_schedule with its values stored where the program has them, with
/// better loops: of an accumulation
///     for i: for k: for j: C[i, j] = C[i, j] + A[i, k] * B[k, j]
/// becomes
///     for i / 8: for j / 16: for k: for i in 8 (unrolled): for j in 16 (a vector): C[i, j] = ...
/// The mapping is `given`'s where nothing better is legal. `wide` and `legal`: as of
/// auto_schedule(). Loops that run as often as a parameter of `endless` says are left long before
/// (data decide when): no memory grows with them.
AutoSchedule with_better_nests(const Mapping &given, bool wide,
                               std::shared_ptr<const LegalProgram> legal = nullptr,
                               const std::vector<std::string> &endless = {});

} // namespace tilewright
