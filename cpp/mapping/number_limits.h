// How large the numbers in a time-space map and in an access relation may be. Loops count in 64
// bits, and isl in as many as it needs: what no loop could count is refused at the command that
// asked for it. That no value passes 64 bits for sizes of up to 2**40 is asked in lowering, where
// the bounds of the loops are known (passes/loop_ranges.h).
#pragma once

#include "mapping/mapping.h"

#include <cstdint>

namespace tilewright {

/// Of sizes, factors of unrolling, paddings, chunks.
inline constexpr std::int64_t largest_size = std::int64_t{1} << 31;
/// Of shifts, factors of skewing, and every coefficient and constant of what they compose to.
inline constexpr std::int64_t largest_number = std::int64_t{1} << 40;

/// Error(Schedule) where a loop or an access relation of `after` that `before` has not has a larger
/// number than that.
void require_small_numbers(const MappingState &before, const MappingState &after,
                           const Command &command);

/// The same of the elements that a computation is to be stored in.
void require_small_place(const isl::map &place, const std::string &computation,
                         const Command &command);

} // namespace tilewright
