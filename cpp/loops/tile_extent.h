// How many iterations a vector or unrolled loop has, of the `factor` that its schedule gives it:
// all of them in a full tile, fewer where the iteration domain ends inside.
#pragma once

#include "loops/linear.h"

#include <optional>
#include <vector>

namespace tilewright {

/// The bounds of a loop of which two are `factor` apart: it has at most that many iterations,
/// beginning at `lower` where it has all of them.
struct TileExtent {
  std::vector<ValuePtr> uppers; ///< the loop ends at the least of these
  std::vector<ValuePtr> lowers; ///< and begins at the greatest of these
  ValuePtr lower;
  ValuePtr upper;
};

/// Nothing for loops that are neither vector nor unrolled ones, or not known to be bounded.
std::optional<TileExtent> tile_extent(const For &loop);

/// Is the loop known to have at most `factor` iterations, perhaps never so many? `known`: the
/// ranges of variables and parameters.
bool fits_factor(const For &loop, const Ranges &known);

/// The number of iterations where it is a constant.
std::optional<std::int64_t> constant_extent(const For &loop);

/// a - b, for index values.
std::optional<Linear> difference(const ValuePtr &a, const ValuePtr &b);

} // namespace tilewright
