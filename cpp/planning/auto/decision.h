// What a planner decided, and why, in words: the lines of f.explain().
#pragma once

#include <string>
#include <vector>

namespace tilewright {

struct Decision {
  std::string about; ///< a computation, several as "X, Y", or empty: the function
  std::string text;  ///< one sentence
};

using Decisions = std::vector<Decision>;

/// "X, Y and Z"
std::string listed(const std::vector<std::string> &names);

} // namespace tilewright
