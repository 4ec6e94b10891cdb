// Periodic subscripts: remainders by a size, which no affine function is, of numbers that are at
// most a few periods away.
#pragma once

#include "algorithm/function.h"

namespace tilewright {

/// `value` with a choice for each int64 quotient or remainder of affine functions, if the quotient
/// has few values in `domain`, the instances that compute it with all that is known of parameters:
///     A[(i + 1) % N]  with 0 <= i < N
/// becomes
///     A[select(i + 1 >= N, i + 1 - N, i + 1)]
/// whose branches are affine, so that dependences, vectors and borders are those of any stencil.
ExprPtr with_small_quotients(const Computation &computation, const ExprPtr &value,
                             const isl::set &domain);

} // namespace tilewright
