// Subscripts that data give are looked at before the loop, all of them at once.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// A serial or parallel loop without loops inside that asks of each iteration whether what lies
/// side by side in an array is a subscript asks it of the least and the largest one before, if it
/// has many iterations, and runs without the question if both are:
///     for p in range(a, b):
///       index = col[p]
///       assert 0 <= index < n
///       s = s + x[index] * v[p]
/// becomes
///     least, most = those of col[a : b], in vectors
///     if 0 <= least and most < n:
///       for p in range(a, b): s = s + x[col[p]] * v[p]
///     else: the loop as it was
/// Python's subscripts that count from the end where they are negative are left to the loop as it
/// was, too. What fails, fails where it did, with all that came before. Compilers make vectors of a
/// loop that cannot fail; loops that store where data say stay, since nobody can of them.
StmtPtr check_ahead(const StmtPtr &body);

} // namespace tilewright
