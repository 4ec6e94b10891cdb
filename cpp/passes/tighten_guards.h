// Loops whose bodies are guarded by data (sparse formats, ragged rows) get the data as bounds.
#pragma once

#include "loops/linear.h"

namespace tilewright {

/// A loop whose body runs only where data says so, by comparisons that are linear in the loop's
/// variable, gets these as its bounds; an equality, of data or of indices, makes it one iteration.
/// The data are read once, where the loop has an iteration at all.
///     for p in range(0, K): if row[i] <= p and p < row[i + 1]: S
/// becomes
///     if 0 < K: start = row[i]; stop = row[i + 1]; for p in range(max(0, start), min(K, stop)): S
/// Tests inside of a loop in the body count, too, where that loop has iterations whenever the outer
/// one has. `known` gives the ranges of the parameters.
StmtPtr tighten_guards(const StmtPtr &body, const Ranges &known = {});

} // namespace tilewright
