// The position of an extremum: values first, in vectors, and a position only where it matters.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Finds serial loops that keep the best value of terms that lie side by side, and where the first
/// one is, or whatever else belongs to its iteration, and searches blocks of terms instead:
///     for k in range(a, b):
///       if x[k] > best: best, at = x[k], k
/// becomes
///     most = best in all lanes
///     for block in blocks of whole vectors:
///       for v in the block: most = max(most, x[v : v + lanes])
///       if any lane of most > best: best, found = the largest lane, block
///     if found: at = the first k in it with x[k] == best;  best = x[at]
/// The last vector has the last terms, some of which may be in the one before, too.
/// `best` and `at` are locals (promote_accumulators), and no position is asked for beside the
/// comparison (settle_tests). What is said of not-a-number stays: the first one counts where the
/// loop says so, as in NumPy's argmax, or none.
StmtPtr search_blocks(const StmtPtr &body);

} // namespace tilewright
