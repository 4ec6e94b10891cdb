// Tests of index values leave the innermost loops in which they always come out the same.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Moves a test of index values out of the innermost loops in which it is the same for all
/// iterations, within a limit on the code that the copies add:
///     for j in ...: if i == 0: S else: T
/// becomes
///     if i == 0: for j in ...: S
///     else: for j in ...: T
StmtPtr unswitch(const StmtPtr &body);

} // namespace tilewright
