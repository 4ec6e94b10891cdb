// Index arithmetic in a short normal form, which all other passes are better after.
#pragma once

#include "loops/linear.h"

namespace tilewright {

/// Brings index arithmetic into a short normal form: sums are collected, floor divisions,
/// remainders, minima, maxima and comparisons are decided where the ranges of the loop variables
/// decide them; loops of no iteration vanish, those of one iteration become their body, and a store
/// that gives an element its own value goes, as locals do that nobody reads. `known` gives the
/// ranges of the parameters.
StmtPtr simplify_indices(const StmtPtr &body, const Ranges &known);

} // namespace tilewright
