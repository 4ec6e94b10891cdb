// Blocks of rows for what was computed from rows that its neighbours need, too: the rows of a block
// are made at once, column by column, and what they share is computed once and stays in registers.
// That is unroll and jam (Callahan, Cocke and Kennedy, 1988) in place of a window of rows in
// memory.
#pragma once

#include "mapping/mapping.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// Rows that are made at once.
inline constexpr std::int64_t rows_of_block = 8;

/// Are the two innermost iterators of a computation rows and columns of which vectors can be made?
bool may_have_row_blocks(const Mapping &mapping, const Computation &computation);

/// For a computation that may have them, in loops as they were declared:
///     for i: for j: B[i, j] = f(x[i - 1, j], x[i - 1, j + 1]) + f(x[i, j], x[i, j + 1])
/// becomes
///     parallel for blocks of i: for j0: for i in the block (unrolled): for j1 (a vector): B[i, j]
std::vector<Command> row_blocks(const Mapping &mapping, const std::string &computation);

} // namespace tilewright
