// Sums that stand within an expression, in the lanes of vectors.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Finds serial loops that only add floating-point terms that lie side by side, in an order that
/// nobody has asked for, and adds them in vectors:
///     total = 0
///     for k in range(a, b): total = total + x[k] * y[k]
/// becomes
///     total = 0
///     if b - a >= two vectors:
///       sums = 0 in all lanes
///       for vectors of x and y: sums = sums + x[v : v + lanes] * y[v : v + lanes]
///       for the terms that are left: total = total + x[k] * y[k]
///       total = total + the sum of all lanes
///     else: the loop as it was
/// A reduction that is a computation of its own has loops that a schedule makes vectors of; these
/// are those that have none: of a recurrence that sums its own values, as a triangular solve does.
/// What is added to what depends on the number of terms alone.
StmtPtr sum_in_lanes(const StmtPtr &body);

} // namespace tilewright
