// The least and the largest of many values, in the lanes of vectors.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Finds serial loops that keep nothing but extremes of floating-point terms that lie side by side,
/// each in a local, and takes the terms in vectors:
///     for k in range(a, b):
///       if x[k] > most: most = x[k]
/// becomes
///     largest = most in all lanes
///     for vectors of x:  largest = x[v : v + lanes] if x[v : v + lanes] > largest else largest
///     m = the largest lane
///     if m is 0 or nobody can say: the loop as it was
///     else: most = m
/// All ways are found in which programs say it: by a test, strict or not, as a choice, as
/// `max`. They differ in what becomes of not-a-number, and in which of two zeros is kept. Where
/// there is one that would count, or the result is a zero, the loop runs as it was, so that the
/// bits are the same. Compilers leave such loops as they are unless they may forget about both.
/// The last vector has the last terms, some of which may be in the one before, too. Whole numbers
/// are left to LLVM.
StmtPtr keep_extremes(const StmtPtr &body);

} // namespace tilewright
