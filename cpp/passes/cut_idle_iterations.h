// Loops end, or begin, where their iterations have something to do.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Bounds a serial loop by a test of its variable without which an iteration does nothing, wherever
/// in its body that test is asked:
///     for i in range(a, b):
///       left = ... if i < e else True
///       if not left: ...
/// becomes
///     for i in range(a, min(b, e)):
///       the same
/// `e` is the same in all iterations and made of sizes and locals alone: a program's range whose
/// end is no affine form, such as int(n ** 0.5) + 1. Scalars are locals here (scalars_to_locals.h).
StmtPtr cut_idle_iterations(const StmtPtr &body);

} // namespace tilewright
