// What some lanes store and others read, or store in turn, goes through registers.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Of elements that lanes store under a mask and that statements behind read or store again, or
/// that all lanes store before some do, the value is kept in a local, and stored once behind all of
/// them:
///     if any of m: A[i : i + 8] = v  # where m
///     if any of n: A[i : i + 8] = w  # where n
///     B[i : i + 8] = A[i : i + 8]
/// becomes
///     kept = 0;  if any of m: kept = v
///     if any of n: kept = w if n else kept
///     B[i : i + 8] = kept if m or n else A[i : i + 8]
///     if any of m or n: A[i : i + 8] = kept  # where m or n
/// Processors do not hand what is stored under a mask to a load: it would wait for the store to be
/// in the cache. Statements that touch other elements of the array end that, and so do checks,
/// which may end the kernel.
StmtPtr join_masked_stores(const StmtPtr &body);

} // namespace tilewright
