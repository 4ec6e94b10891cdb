// Kernels for a GPU of a program over memory: loops are found anew by isl's scheduler, outermost
// parallel ones first, under all that has to come in some order: values before what reads them, and
// what is overwritten before that. Parallel loops become blocks and threads; loops of which none is
// parallel (time steps, wavefronts) run on the host, which launches kernels in each iteration.
// After Verdoolaege et al., Polyhedral Parallel Code Generation for CUDA (TACO 2013); a loop that
// carries all that is left is found by Feautrier's algorithm (Some Efficient Solutions to the
// Affine Scheduling Problem II, 1992).
#pragma once

#include "planning/auto/auto_schedule.h"

#include <memory>

namespace tilewright {

/// `given`, a whole order by set_schedule with its values stored where the program has them, as
/// kernels. The mapping is `given`'s, with a decision that says why, where no order is found.
/// `legal`: the program of `given`, if that was made before.
AutoSchedule with_gpu_nests(const Mapping &given,
                            std::shared_ptr<const LegalProgram> legal = nullptr);

} // namespace tilewright
