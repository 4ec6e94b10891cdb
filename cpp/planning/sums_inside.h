// Reductions that stay within the expression of their computation, as a recurrence that sums its
// own values has them: they have no loops that a schedule names.
#pragma once

#include "algorithm/function.h"

namespace tilewright {

/// Whether vectors along a dimension compute such reductions side by side, and nothing else that
/// vectors do not have: in X[t,i,j] = sum(A[i,k] * X[t-1,k,j] for k) along j, since no bound of k
/// depends on j, and each array lies side by side along j, or does not depend on it.
bool has_sums_beside(const Computation &computation, size_t dimension);

} // namespace tilewright
