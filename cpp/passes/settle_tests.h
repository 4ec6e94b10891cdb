// A running position is asked whether a later one is smaller: once it is not, it never is.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Splits a serial loop whose body asks `p < at`, where `at` is a local that takes no values in the
/// loop but p, and p does not fall from one iteration to the next: the position of an extremum,
/// where of equal values the first one counts.
///     for k in range(a, b):
///       better = x[k] > best or (x[k] == best and k < at)
///       best, at = (x[k], k) if better else (best, at)
/// becomes
///     if a < b: the iteration a
///     if at <= a:
///       for k in range(a + 1, b): the same with False for k < at
///     else:
///       for k in range(a + 1, b): the same
/// Nothing is assumed of what `at` was before, so that all values are as they were.
StmtPtr settle_tests(const StmtPtr &body);

} // namespace tilewright
