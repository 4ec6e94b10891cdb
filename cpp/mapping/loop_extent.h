// How many iterations a loop has, where that is one number: what a vector loop or an unrolled one
// needs.
#pragma once

#include "mapping/mapping.h"

namespace tilewright {

/// Iterations of a vector loop or of an unrolled one.
inline constexpr std::int64_t max_copies = 1024;

/// The constant number of values that a loop of the command's computation takes, by construction or
/// found by isl; 0 where it is not constant.
std::int64_t constant_extent(const MappingState &state, const Command &command,
                             const LoopDimension &loop);

/// The constant number of values that a loop takes in one iteration of the loops that compute_at
/// shares, 0 where there is none.
std::int64_t extent_inside(const MappingState &state, const std::string &computation,
                           size_t position);

} // namespace tilewright
