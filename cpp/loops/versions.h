// Several ways to compute the same in one kernel, between which a test of parameters chooses when
// it runs: loops for some parameters beside those for all (specialize), loops as declared where
// there is little to do (when_work).
//     for i0 in range(0, (N + 7) // 8): ...
// becomes
//     if N % 8 == 0:
//       for i0 in range(0, N // 8): ...
//     else:
//       for i0 in range(0, (N + 7) // 8): ...
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Whether two versions keep elements in the same places: then temporaries of one name have one
/// shape wherever both are meant, even if one version knows it as a number.
enum class SameMapping { No, Yes };

/// `kernel` does what `version` does where `condition`, a value of parameters, holds. Both are of
/// one function: their arguments are the same. A temporary of the same name and shape is one; the
/// others of `version` are new in `kernel`.
void add_version(Kernel &kernel, const Kernel &version, const ValuePtr &condition,
                 SameMapping same);

} // namespace tilewright
