// Subscripts that are computed from data and yet cannot leave their array, because minima, maxima,
// remainders or their type keep them inside: they need no check when the kernel runs.
#pragma once

#include "loops/linear.h"

#include <unordered_map>

namespace tilewright {

/// The values of locals and Lets that are given one once, by number.
using Definitions = std::unordered_map<std::int64_t, ValuePtr>;

/// Is 0 <= subscript < extent, whatever the data? False where it cannot be told.
bool always_inside(const ValuePtr &subscript, const ValuePtr &extent, const Ranges &known,
                   const Definitions &definitions);

} // namespace tilewright
