// Expressions that compute the same but for the names of iterators, by a text that is the same for
// them: sum(Q[i,d] * K[j,d] for d) of i, j is sum(Q[a,e] * K[b,e] for e) of a, b.
#pragma once

#include "algorithm/expression.h"

#include <string>
#include <vector>

namespace tilewright {

struct ExpressionKey {
  std::string text;                   ///< empty for an expression that is too large to be compared
  std::vector<std::string> iterators; ///< those from outside, as they first occur
};

ExpressionKey key_of(const ExprPtr &expr);

} // namespace tilewright
