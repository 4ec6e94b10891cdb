// Loops that are a tile of a warp's (gpu_mma): rows, columns and the terms of a sum of products,
// for a GPU's tensor cores. The 32 threads of a warp, those along x, have the tile together: which
// of them has which sum is the hardware's layout (mapping/mma_shapes.h), here as a function of the
// instance. Which of them reads which element of a factor is left to the code. What does not have
// the form of such a tile is refused: what it is, and what there is.
#pragma once

#include "mapping/mma_shapes.h"
#include "mapping/program.h"

#include <optional>
#include <string>

namespace tilewright {

struct MmaLoops {
  size_t rows = 0; ///< levels
  size_t columns = 0;
  std::optional<size_t> sum; ///< of a product; without it sums are only touched, one by one
};

/// How messages name a loop of a statement.
std::string loop_text(const Statement &statement, size_t level);

/// The tile's loops; nothing where there is none. Throws Error(Schedule) where they make no tile.
std::optional<MmaLoops> mma_loops(const Statement &statement);

/// Whether the statement is a product of a tile: a loop over terms is tagged.
bool is_mma_product(const Statement &statement);

/// The instruction of a product. Throws Error(Schedule) where it is not a sum of products that one
/// has.
MmaShape mma_shape(const Statement &statement);

/// The thread along x that has the instance's sum.
isl::pw_aff mma_lane(const Statement &statement, const MmaLoops &loops);

} // namespace tilewright
