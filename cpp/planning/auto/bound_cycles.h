// Statements that no loop distribution can take apart, found without a question to isl.
#pragma once

#include "algorithm/function.h"
#include "planning/auto/nest_times.h"

#include <set>
#include <string>

namespace tilewright {

/// The statements that need each other within an iteration of all loops that they share but the
/// innermost one, and that are in no loop besides: x, y and t of
///     for i: for n: { t = x * x - y * y; y = 2 * x * y; x = t }
/// Each iteration of the innermost loop needs the one before it of the others, so in a loop of its
/// own, none of them could run (Kennedy and McKinley, Maximizing Loop Parallelism, 1993).
std::set<std::string> bound_in_cycles(const Function &function, const Nests &nests);

} // namespace tilewright
