// Computations of one row after the other: what a computation needs of the row at hand is computed
// beside it, while the row is in a cache. Reductions that stood within an expression are fused back
// with it so (a softmax: the maximum, the sum and the quotients of one row), and stages of a
// pipeline that read each other's rows.
#pragma once

#include "mapping/mapping.h"

namespace tilewright {

/// `mapping`, in which computations that follow each other share their outermost loop:
///     parallel for i: m[i] = ...
///     parallel for i: y[i, j] = x[i, j] - m[i]
/// becomes
///     parallel for i:
///       m[i] = ...
///       y[i, j] = x[i, j] - m[i]
/// Each of the loops is parallel, runs over the same rows, or the same blocks of rows, and has
/// others inside; each computation reads earlier ones that share the loop at its own row only. Not
/// yet asked for its legality.
Mapping with_shared_rows(Mapping mapping);

/// `mapping`, in which a result's elements hold at first what they are computed from, if that is
/// one element of another computation that shares the loop (the exponentials of a softmax): no
/// other array comes between. Not yet asked for its legality, either.
Mapping with_rows_in_results(Mapping mapping);

/// `mapping`, in which two kinds of rows are private to an iteration of the loop that they share
/// with their readers. Of those of which data decide how much there is (a domain bounded by data, a
/// sparse matrix), the box around all is much larger than what exists. Those of more dimensions
/// than what is computed from them (the weights of the windows of a filter) may take many times the
/// memory of all results. Nor asked.
Mapping with_private_rows(Mapping mapping);

} // namespace tilewright
