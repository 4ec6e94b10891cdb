// A matrix that is multiplied with vectors from both sides is read once.
#pragma once

#include "planning/auto/legal_mapping.h"

#include <set>
#include <string>

namespace tilewright {

/// `before` with pairs of reductions in common loops, of which one sums the rows of a matrix and
/// the other one its columns:
///     for i: for j: P[i] = P[i] + A[i, j] * x[j]
///     for i: for j: y[j] = y[j] + A[i, j] * P[i]
/// becomes
///     for block of rows (parallel): for some rows of it:
///       for j: for i of these: P[i] = P[i] + A[i, j] * x[j]
///       for j: for i of these: y_blocks[block, j] = y_blocks[block, j] + A[i, j] * P[i]
///     for block: for j: y[j] = y[j] + y_blocks[block, j]
/// Sums of blocks do not depend on how many threads there are. `standard` is the default schedule;
/// computations that share loops in it are left alone. The names of both members of each pair are
/// added to `planned`.
LegalMapping with_matrices_read_once(const LegalMapping &before, const Mapping &standard, bool wide,
                                     std::set<std::string> &planned, Decisions &decisions);

} // namespace tilewright
