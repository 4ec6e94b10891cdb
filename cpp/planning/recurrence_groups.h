// Who needs whom, as the expressions say it and without a question about sets: the groups of
// computations that need each other.
#pragma once

#include "algorithm/function.h"

#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// The computations that a computation reads; of what blocks write, their calls.
std::set<std::string> computations_read_by(const Computation &computation);

/// Computations that need each other, in the order of the function; groups of one are left out.
std::vector<std::vector<std::string>> recurrence_groups(const Function &function);

} // namespace tilewright
