// How the values of two loops compare on pairs of instances. A loop over blocks of a part of a
// size (parametric_split.h) has a case for each block, and a comparison of two such loops by itself
// has all pairs of cases, most of which the given pairs rule out at once.
#pragma once

#include "polyhedral/isl.h"

namespace tilewright {

/// The pairs (first -> second instance) by how the value of the first one's loop compares.
struct ComparedLoops {
  isl::map larger;
  isl::map smaller;
  isl::map equal;
};

/// `with_smaller`: false where nobody asks for these, which are then left out.
ComparedLoops compare_loops(const isl::map &pairs, const isl::pw_aff &first,
                            const isl::pw_aff &second, bool with_smaller = true);

/// The pairs in which both loops have one value.
isl::map with_equal_loops(const isl::map &pairs, const isl::pw_aff &first,
                          const isl::pw_aff &second);

/// Have both loops one value in all pairs?
bool have_equal_loops(const isl::map &pairs, const isl::pw_aff &first, const isl::pw_aff &second);

} // namespace tilewright
