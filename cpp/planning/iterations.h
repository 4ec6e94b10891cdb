// The default mapping of a function that iterates until its data say so (algorithm/convergence.h):
// one loop over the iterations, in which all that is computed in them is in order, and buffers that
// keep the latest iterations that somebody still reads.
#pragma once

#include "planning/default_mapping.h"

#include <functional>

namespace tilewright {

/// `legal_program`: the program of a mapping as it was found legal, or null.
PlannedMapping plan_iterations(
    const std::shared_ptr<const Function> &function,
    const std::function<std::shared_ptr<const LegalProgram>(const Mapping &)> &legal_program);

} // namespace tilewright
