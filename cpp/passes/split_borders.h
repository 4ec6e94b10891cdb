// The borders of a stencil get loops of their own, so that the iterations between ask nothing.
#pragma once

#include "loops/linear.h"

namespace tilewright {

/// Gives the first and last iterations of an innermost loop, where tests, minima and maxima in its
/// body have another outcome than in all others, loops of their own:
///     for j in range(0, N): Y[j] = X[max(j - 1, 0)]
/// becomes
///     for j in range(0, min(N, 1)): Y[j] = X[max(j - 1, 0)]
///     for j in range(1, N): Y[j] = X[j - 1]
/// What is tested for each lane of a vector loop counts in the loop around it, for all lanes. A
/// parallel loop stays one loop and gets a test in its body. `known` gives the ranges of the
/// parameters; `masks`: whether the target has masks.
StmtPtr split_borders(const StmtPtr &body, const Ranges &known, bool masks);

} // namespace tilewright
