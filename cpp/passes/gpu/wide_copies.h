// Copies that are dealt out to a block's threads (gpu_spread) by up to 16 bytes at a time: where
// the innermost loop goes along neighbours of what is read, whose places in the array are known to
// be multiples of a width that threads have. They are written as they come, also where they are no
// neighbours there (a transpose).
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

///     for i in range(0, 8):  # gpu_spread
///         for j in range(64*j0, min(64*j0 + 64, M)):  # gpu_spread
///             T[i, j - 64*j0] = A[i, j]
/// becomes
///     if aligned(A, 16):
///         for i in range(0, 8):  # gpu_spread
///             for j4 in range(0, ceil(min(64, M - 64*j0) / 4)):  # gpu_spread
///                 if 64*j0 + 4*j4 + 4 <= M:
///                     T[i, 4*j4 : 4*j4 + 4] = A[i, 64*j0 + 4*j4 : 64*j0 + 4*j4 + 4]
///                 else:
///                     for j in range(64*j0 + 4*j4, M): T[i, j - 64*j0] = A[i, j]
///     else: the loops as they were
/// Before map_launches, which deals them out.
void widen_copies(Kernel &kernel);

} // namespace tilewright
