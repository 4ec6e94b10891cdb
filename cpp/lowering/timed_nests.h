// The outermost loop nests whose time is taken.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// `body`, which is to be the kernel's: nests that share a statement, of which isl made several,
/// are one.
StmtPtr join_nests(const StmtPtr &body, Kernel &kernel);

} // namespace tilewright
