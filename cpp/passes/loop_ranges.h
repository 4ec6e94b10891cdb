// The last word on numbers that do not fit: loops count in 64 bits, and a schedule's coefficients
// times the sizes of a call may not. Refuses kernels whose loops, conditions and subscripts could
// pass 64 bits for sizes that the context allows and that are no larger than 2**40, which calls ask
// (algorithm/size_parameters.h); what is known of sizes is the context's, what of loops their
// bounds (interval arithmetic). What depends on data is not asked.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"

namespace tilewright {

/// Throws Error(Schedule) that names the loop. `known` gives the ranges of the parameters.
///
/// The passes take loop variables to be no larger than a size (2**40), so that index arithmetic on
/// them does not wrap. A loop of `for k in range(32*N - 2, 32*N)` passes that; where a value that
/// is computed from its variable could then leave int64, the value gets the variable as a number
/// like any other, and wraps around as NumPy's do:
///     for k in range(32*N - 2, 32*N): S = S + k * 1048576 // 1048576
/// becomes
///     for k in range(32*N - 2, 32*N): k_number = k; S = S + k_number * 1048576 // 1048576
StmtPtr settle_loop_ranges(const Kernel &kernel, const Ranges &known);

} // namespace tilewright
