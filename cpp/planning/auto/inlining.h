// Stages that are not worth memory of their own: what is read at one place only, or costs next to
// nothing, is computed where it is read (Halide's inline; Ragan-Kelley et al., PLDI 2013). Fewer
// values go through memory, and none is computed more often than it is read.
#pragma once

#include "mapping/mapping.h"
#include "planning/auto/decision.h"
#include "planning/auto/flow_graph.h"

#include <set>
#include <string>

namespace tilewright {

/// `given`, in which each computation has the loops that it was declared with, without such stages:
///     for i: A[i] = x[i] * x[i]
///     for i: B[i] = A[i] + 1
/// becomes
///     for i: B[i] = x[i] * x[i] + 1
/// So are stages of which one reader needs several rows of one column, as the second half of a
/// separable filter does. That reader joins `rows`: it is to make several rows at once, which
/// compute what they share once (row_blocks.h).
Mapping with_inlined_stages(const Mapping &given, const FlowGraph &graph,
                            std::set<std::string> &rows, Decisions &decisions);

} // namespace tilewright
