// Copies into shared memory that are under way while threads work: a buffer of S stages is S
// buffers, iteration k works on number k modulo S, and what iteration k + S - 1 reads is copied
// meanwhile. Asynchronously (cp.async) where the target can and the bytes stay in order, else
// through each thread's registers: loaded before the work, stored after it. One barrier an
// iteration orders all of it. (Software pipelining of a loop's loads, as in CUTLASS's multistage
// main loops.)
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

///     for k in range(0, K):
///         T = empty(32)
///         T[t] = A[k, t]
///         C[i] = C[i] + T[31 - t]
/// becomes, of two stages,
///     T = empty(2, 32)
///     if 0 < K: T[0, t] = A[0, t]  # asynchronous
///     commit copies
///     for k in range(0, K):
///         wait for copies
///         barrier
///         if k + 1 < K: T[(k + 1) % 2, t] = A[k + 1, t]  # asynchronous
///         commit copies
///         C[i] = C[i] + T[k % 2, 31 - t]
/// After map_launches, on what one thread does. That the copies may come sooner was asked before
/// (analysis/copies_ahead.h). Where the copies do not stand apart in the loop's body, or there is
/// no loop left, the buffer gets barriers before and after it is filled, and one stage is used.
void stage_copies(Kernel &kernel, bool asynchronous);

} // namespace tilewright
