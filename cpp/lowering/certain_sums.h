// Reductions within an expression that are computed whatever the data say.
#pragma once

#include "algorithm/expression.h"

#include <unordered_set>

namespace tilewright {

/// Adds those of an expression that stand outside of each other and of the branches of choices:
/// what the terms of another one need of them is known before its loop.
void note_certain_sums(const ExprPtr &root, std::unordered_set<const Expr *> &sums);

} // namespace tilewright
