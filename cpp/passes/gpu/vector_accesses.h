// Vector-width accesses of a GPU's threads, which must be at addresses that are multiples of their
// width, while the arrays of a call may begin anywhere. What the subscripts say is known here; the
// rest, an array's address and strides, is asked where a thread needs it: the same for all of them,
// so that one branch, which all take together, tells the wide accesses from narrow ones.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <vector>

namespace tilewright {

/// Puts what has such accesses to arrays under If(Aligned), as it is; else there is a copy of it:
///     C[4*i : 4*i + 4] = A[4*i : 4*i + 4]
/// becomes
///     if aligned(A, 16) and aligned(C, 16): C[4*i : 4*i + 4] = A[4*i : 4*i + 4]
///     else: C[4*i : 4*i + 4] = A[4*i : 4*i + 4]
/// of which the targets make wide accesses in the first place only. Before map_launches.
void align_vectors(Kernel &kernel);

} // namespace tilewright
