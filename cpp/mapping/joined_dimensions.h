// Loops that join counts through as one although isl knows no product of their extents: in a
// TimeSpaceMap they are neighbours with one name, or, if they are cut into strips, with that of the
// loop over strips; the last of them has that of the loop in a strip then. LoopTag says the rest.
#pragma once

#include "mapping/mapping.h"

#include <string>

namespace tilewright {

/// Loops [first, first + count): more than one only of joined loops.
struct LoopRange {
  size_t first = 0;
  size_t count = 1;
  bool is_strip = false; ///< the name was that of the loop in a strip

  size_t end() const { return first + count; }
};

/// The loops that one at `position` runs as one with.
LoopRange joined_range(const TimeSpaceMap &map, size_t position);
/// What a name stands for; refuses with the loops there are.
LoopRange find_loops(const TimeSpaceMap &map, const std::string &name, const Command &command);
/// Gives joined loops a tag, or what is in their strips.
void tag_loops(TimeSpaceMap &map, const LoopRange &loops, const LoopTag &tag);
/// Cuts joined loops into strips of `size` iterations.
void cut_into_strips(TimeSpaceMap &map, const LoopRange &loops, std::int64_t size,
                     const std::string &outer, const std::string &inner, const Command &command);

/// Refuses loops [first, first + count) where the bounds of one depend on another of them: the
/// number of their iterations would be no product. `instead`: what does better.
void require_independent_bounds(const MappingState &state, const Command &command, size_t first,
                                size_t count, const std::string &instead);
/// Refuses loops of the command's computation that are to run as one parallel loop, where the
/// bounds of one depend on another now.
void require_independent_joins(const MappingState &state, const Command &command);
/// Refuses a mapping in which other loops, memory or other computations stand between joined loops.
void require_whole_joins(const MappingState &state, const Command &command);

} // namespace tilewright
