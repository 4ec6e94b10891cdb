// Sums whose vectors move with a term stay where they are, so that registers can hold them.
#pragma once

#include "loops/linear.h"

namespace tilewright {

/// The bounds of a vector loop that sums may move with a term around it: of a transposed
/// convolution, each element of a window has results of its own. The vector gets the lanes of all
/// terms instead, and each term is added in those that have it:
///     for q in range(0, 3): for x in range(q, q + 14): Y[x] = Y[x] + X[x - q]    # vector(16)
/// becomes
///     for q in range(0, 3): for x in range(0, 16):                               # vector(16)
///         sum = Y[x]
///         if q <= x and x < q + 14: sum = sum + X[x - q]
///         Y[x] = sum
/// for terms of a small window, if every lane has one, and every term a lane, which is shown as by
/// Fourier and Motzkin. Only for targets that load under masks. `known`: the ranges of parameters.
StmtPtr hold_lanes(const StmtPtr &body, const Ranges &known);

} // namespace tilewright
