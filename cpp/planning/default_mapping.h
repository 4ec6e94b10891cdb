// The mapping of a function that nobody has scheduled: always legal. Loops in iterator order,
// producers first; where a recurrence forbids that, computations that need each other are fused or
// run backwards, and as the last resort isl's scheduler gives the order (Pluto's algorithm as isl
// implements it). Producers that an output only shows are stored in it.
#pragma once

#include "analysis/unchanged.h"
#include "mapping/mapping.h"

namespace tilewright {

/// A mapping, and its program as it was found legal; null where no order is.
struct PlannedMapping {
  Mapping mapping;
  std::shared_ptr<const LegalProgram> legal;
  bool plain = false; ///< Mapping(function): nothing had to be moved
};

/// No order is found only for recurrences with non-affine reads; whoever runs the function asks
/// for its legality (analysis/legality.h), and gets the reason.
PlannedMapping plan_default(const std::shared_ptr<const Function> &function);

Mapping default_mapping(const std::shared_ptr<const Function> &function);

} // namespace tilewright
