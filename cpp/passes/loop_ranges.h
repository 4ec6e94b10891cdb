// The last word on numbers that do not fit: loops count in 64 bits, and a schedule's coefficients
// times the sizes of a call may not. Refuses kernels whose loops, conditions
// and subscripts could pass 64 bits for sizes that the context allows and that are no larger than
// 2**40, which calls ask (algorithm/size_parameters.h); what is known of sizes is the context's,
// what of loops their bounds (interval arithmetic). What depends on data is not asked.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"

namespace tilewright {

/// Error(Schedule) that names the loop. `known` gives the ranges of the parameters.
void require_loops_in_range(const Kernel &kernel, const Ranges &known);

} // namespace tilewright
