// Vector loops and threads inside the loops that a recurrence has anyway, and for sums whose terms
// the default schedule adds one by one.
#pragma once

#include "planning/auto/legal_mapping.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// Less work than this of computations that share the loops of a recurrence is done sooner by the
/// loops as declared.
inline constexpr std::int64_t little_for_groups = 40'000;

/// `before` with a vector loop, of results or of the terms of sums, and a parallel loop outside of
/// it, for computations that share loops with others: of the loops that they do not share.
LegalMapping with_inner_loops(const LegalMapping &before, const std::vector<std::string> &group,
                              Decisions &decisions);

/// `before` with the results of a sum side by side in a vector loop inside of the loops over its
/// terms, where none of its loops is a vector loop and nothing else prevents it:
///     for i: for j: for k: C[i, j] = C[i, j] + A[k, i] * B[k, j]
/// becomes
///     for i: for k: for j (a vector): C[i, j] = C[i, j] + A[k, i] * B[k, j]
LegalMapping with_rows_of_sums(const LegalMapping &before, const std::string &computation,
                               Decisions &decisions);

/// Has it a loop with such a tag?
bool has_loop(const Mapping &mapping, const std::string &computation, Tag tag);

} // namespace tilewright
