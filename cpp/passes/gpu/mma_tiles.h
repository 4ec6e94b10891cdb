// Products of a warp's tiles on tensor cores: of three GpuMma loops around C[...] += a * b, what
// one thread of the warp does. It loads its elements of both factors, zero where they lie outside
// of a short tile, gives them and its four sums to the instruction, and stores the sums. Where a
// tile may be short, there is a second version for full ones, without the tests. Factors of two
// bytes in shared memory, in rows of whole eights, are loaded by an instruction of the warp's.
// Which elements are a thread's is in mapping/mma_shapes.h.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"
#include "loops/traverse.h"

namespace tilewright {

/// The thread's place in its warp: t / 4 and t mod 4, in [0, 8) and [0, 4).
struct LanePlace {
  ValuePtr row;
  ValuePtr column;
};

/// Whether this loop over a tile's rows is a product's.
bool is_product_tile(const For &rows);

/// `ranges`: of all variables outside. Throws Error(Schedule) where the factors or the tile's edges
/// are not what an instruction can take.
StmtPtr lower_product_tile(const For &rows, const LanePlace &lane, const Kernel &kernel,
                           const Ranges &ranges, Numbers &numbers);

} // namespace tilewright
