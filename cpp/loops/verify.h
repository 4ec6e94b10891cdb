// What every kernel of the loop IR satisfies: variables and locals are defined where they are used
// and only once on a path, operand types and lanes agree, subscripts match the rank of their
// buffer.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Throws Error(Internal) that names the first violation.
void verify_kernel(const Kernel &kernel);

} // namespace tilewright
