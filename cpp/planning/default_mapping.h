// The mapping of a function that nobody has scheduled: always legal. Loops in iterator order,
// producers first; where a recurrence forbids that, computations that need each other are fused or
// run backwards, and as the last resort isl's scheduler gives the order (Pluto's algorithm as isl
// implements it).
#pragma once

#include "mapping/mapping.h"

namespace tilewright {

/// Throws Error(IllegalSchedule) when no order is found, which only a recurrence with non-affine
/// reads can cause.
Mapping default_mapping(const std::shared_ptr<const Function> &function);

} // namespace tilewright
