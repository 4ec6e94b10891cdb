// What a test decides is the term, not whether one is added.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Floating-point sums to which a serial loop adds under a test get a term in each iteration:
///     for k in range(a, b):
///       if x[k] > 0: sum = sum + x[k]
/// becomes
///     for k in range(a, b):
///       sum = sum + (x[k] if x[k] > 0 else -0.0)
/// which leaves each bit as it was (`sum - 0.0` for differences). The sum is all that iterations
/// wait for, and LLVM makes vectors of it where the order of terms may change. Only of terms that
/// read nothing but what the test reads, and have no division and no function in them.
StmtPtr add_chosen_terms(const StmtPtr &body);

} // namespace tilewright
