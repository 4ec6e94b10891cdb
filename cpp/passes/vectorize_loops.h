// Vector loops become vector operations (vector_loop.h), or stay loops.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"
#include "passes/vector_loop.h"

namespace tilewright {

/// Replaces vector loops that are bounded by their factor by vector operations, under a mask where
/// they may have fewer iterations. A loop that has no vector form becomes serial: see
/// vector_loop.h. `known`: the ranges of parameters.
StmtPtr vectorize_loops(const StmtPtr &body, const VectorOptions &options,
                        const Ranges &known = {});

} // namespace tilewright
