// Unrolled loops become copies of their body, at two places of the road.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Replaces those Unrolled loops of constant extent by their copies in which loops of constant but
/// different extents stand: the rest of a tile of 23 columns, 12 and 11, is then known to be one.
StmtPtr unroll_tile_shapes(const StmtPtr &body);

/// Replaces Unrolled loops of constant extent by their copies; others become serial. Of the rows of
/// a tile that is not full, half as many as a full one has sum up side by side while there are
/// that many.
StmtPtr unroll_loops(const StmtPtr &body);

} // namespace tilewright
