// Reductions of reductions: sum(sum(body for l) for k) is sum(body for k, l).
#pragma once

#include "algorithm/expression.h"

namespace tilewright {

/// The expression with reductions that are the whole term of another one of the same kind as part
/// of that one, innermost first; itself if there is none. Ordered reductions and those of which
/// data choose the terms stay.
ExprPtr with_joined_reductions(const ExprPtr &root);

} // namespace tilewright
