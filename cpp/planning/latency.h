// What an iteration of an innermost loop costs if each one needs the one before it: the time until
// the next iteration can go on, against the time that its operations take where nothing waits. Both
// are cycles of a processor of the last ten years, taken from Agner Fog's instruction tables for
// Skylake to Golden Cove and Zen 2 to Zen 4, and rough: they decide whether waiting is what costs.
#pragma once

#include "algorithm/function.h"

#include <map>
#include <string>

namespace tilewright {

struct IterationCost {
  double wait = 0; ///< cycles from a value of the iteration before to that which the next one needs
  double work = 0; ///< cycles in which the processor can issue the operations
};

/// Of computations that run one after the other in each iteration of a loop, with the iterator that
/// it runs over in each of them. A member reads the iteration before where a subscript differs from
/// its own iterators along the loop only.
IterationCost iteration_cost(const Function &function,
                             const std::map<std::string, std::string> &iterators);

} // namespace tilewright
