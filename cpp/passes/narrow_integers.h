// Index arithmetic of small numbers in small integers, of which a vector holds twice as many.
#pragma once

#include "loops/linear.h"

namespace tilewright {

/// Computes minima and maxima of numbers that were int32 with sizes in int32, too, where half as
/// many vectors hold them; locals of such numbers stay int32.
///     at = min(int64(max(x, 0)), N - 2); y = float32(at); A[at]
/// becomes, where N - 2 is known to be no less than -2**31,
///     at = min(max(x, 0), int32(min(N - 2, 2147483647))); y = float32(at); A[int64(at)]
/// `known` gives the ranges of the parameters.
StmtPtr narrow_integers(const StmtPtr &body, const Ranges &known);

} // namespace tilewright
