// memory="registers": a buffer inside loops becomes registers where each access to it has constant
// subscripts once unrolled and vector loops are gone; then LLVM's scalar replacement leaves nothing
// of it in memory. Both checks throw Error(Schedule), which names the command, the access and the
// loop that keeps the access from being constant.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Before the loop passes: the loops that drive a subscript of such a buffer are unrolled or vector
/// loops inside of it, and none around an access is parallel.
void check_register_loops(const Kernel &kernel);

/// After them: in at least one place where such a buffer is allocated (the full tiles; the shorter
/// ones at the border stay on the stack), every access has constant subscripts and no two vectors
/// overlap in part.
void check_registers(const Kernel &kernel);

} // namespace tilewright
