// Joined loops that are cut into strips: what a schedule says of the product of their extents,
// which isl does not know, is carried out here.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Loops that join counts through become one loop over strips of their iterations, and the
/// strip. Of
///     for ij in range(0, N):
///         for ij in range(0, M): S(i, j)
/// cut into strips of 8 comes
///     for ij0 in range(0, ceil(N * M / 8)):
///         first = 8 * ij0 % M; row = 8 * ij0 // M
///         for ij1 in range(0, min(8, N * M - 8 * ij0)):
///             S(row + (first + ij1) // M, (first + ij1) % M)
/// A strip that is no longer than a row comes to one new row at most, and needs no division:
/// compiled kernels have that case beside (`for_people`: not). Conditions between the loops are
/// asked inside. Loops that are not cut stay as they are: in this order they are the joined loop.
/// Throws Error(Schedule) where something else stands between them.
void count_joined_loops(Kernel &kernel, bool for_people);

} // namespace tilewright
