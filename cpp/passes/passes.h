// The loop passes, one file each, in the order in which lower.cpp runs them. Each takes a body that
// verify_kernel accepts and gives one that computes the same values; none needs another to have
// run, but each is better after simplify_indices.
#pragma once

#include "loops/linear.h"
#include "loops/loop_ir.h"
#include "passes/vector_loop.h"

namespace tilewright {

/// Brings index arithmetic into a short normal form: sums are collected, floor divisions,
/// remainders, minima, maxima and comparisons are decided where the ranges of the loop variables
/// decide them; loops of no iteration vanish, those of one iteration become their body, and a store
/// that gives an element its own value goes. `known` gives the ranges of the parameters.
StmtPtr simplify_indices(const StmtPtr &body, const Ranges &known);

/// A loop whose body runs only where data says so, by comparisons that are linear in the loop's
/// variable, gets these as its bounds; an equality makes it one iteration. The data are read once,
/// where the loop has an iteration at all.
///     for p in range(0, K): if row[i] <= p and p < row[i + 1]: S
/// becomes
///     if 0 < K: start = row[i]; stop = row[i + 1]; for p in range(max(0, start), min(K, stop)): S
StmtPtr tighten_guards(const StmtPtr &body);

/// Moves a test of index values out of the innermost loops in which it is the same for all
/// iterations, within a limit on the code that the copies add:
///     for j in ...: if i == 0: S else: T
/// becomes
///     if i == 0: for j in ...: S
///     else: for j in ...: T
StmtPtr unswitch(const StmtPtr &body);

/// Gives the first and last iterations of an innermost loop, where tests, minima and maxima in its
/// body have another outcome than in all others, loops of their own:
///     for j in range(0, N): Y[j] = X[max(j - 1, 0)]
/// becomes
///     for j in range(0, min(N, 1)): Y[j] = X[max(j - 1, 0)]
///     for j in range(1, N): Y[j] = X[j - 1]
/// What is tested for each lane of a vector loop counts in the loop around it, for all lanes. A
/// parallel loop stays one loop and gets a test in its body. `known` gives the ranges of the
/// parameters; `masks`: whether the target has masks.
StmtPtr split_borders(const StmtPtr &body, const Ranges &known, bool masks);

/// Tile separation: for a Vector or Unrolled loop of `factor` iterations, fewer in border tiles,
/// the test for a full tile is made as far out as its variables are known, by splitting the loop
/// around it or by an If. The full part has loops of constant extent; in the other part they are
/// MaskedVector loops where the target has masks for some elements (`masked_bytes` and wider; 0 is
/// none), else serial:
///     for v in range(0, min(8, N - 8*i)):
/// becomes
///     for i in range(0, N // 8): for v in range(0, 8): ...
///     for i in range(N // 8, ...): for v in range(0, N - 8*i): ...
/// but never so far out that two versions of another loop beside it would be made.
/// A test inside a vector loop that varies over its lanes (the border of a stencil) is asked for in
/// the same place: where it holds in all lanes, the vector code goes without it. Where all elements
/// have masks, the rest of an unrolled loop is one version with all of its vectors under masks, and
/// of tiles that are short in rows or in columns there is one version for both:
///     for y in range(0, H, 4): for x in range(0, W, 8): up to 4 rows of up to 8 columns
/// becomes, 4 x 8 being a full tile,
///     for y in range(0, H, 4):
///         full = W // 8 * 8 if y + 4 <= H else 0
///         for x in range(0, full, 8): 4 rows of 8 columns
///         for x in range(full, W, 8): up to 4 rows of 8 columns under a mask
/// `keeps_copies`: the unrolled loops of short tiles keep their factor, for unroll_short_tiles.
StmtPtr separate_tiles(const StmtPtr &body, int masked_bytes, bool keeps_copies = false);

/// After separate_tiles, for targets whose threads skip what a condition forbids at next to no
/// cost: the loops of short tiles become copies under conditions, so that sums stay in registers
/// there, too.
///     for v in range(0, min(4, N - 4*i)): S(v)
/// becomes
///     if 0 < N - 4*i: S(0)
///     if 1 < N - 4*i: S(1) ...
StmtPtr unroll_short_tiles(const StmtPtr &body);

/// Replaces those Unrolled loops of constant extent by their copies in which loops of constant but
/// different extents stand: the rest of a tile of 23 columns, 12 and 11, is then known to be one.
StmtPtr unroll_tile_shapes(const StmtPtr &body);

/// Computes minima and maxima of numbers that were int32 with sizes in int32, too, where half as
/// many vectors hold them; locals of such numbers stay int32.
///     at = min(int64(max(x, 0)), N - 2); y = float32(at); A[at]
/// becomes, where N - 2 is known to be no less than -2**31,
///     at = min(max(x, 0), int32(min(N - 2, 2147483647))); y = float32(at); A[int64(at)]
/// `known` gives the ranges of the parameters.
StmtPtr narrow_integers(const StmtPtr &body, const Ranges &known);

/// Replaces Unrolled loops of constant extent by their copies; others become serial.
StmtPtr unroll_loops(const StmtPtr &body);

/// Replaces vector loops that are bounded by their factor by vector operations, under a mask where
/// they may have fewer iterations. A loop that has no vector form becomes serial: see
/// vector_loop.h.
StmtPtr vectorize_loops(const StmtPtr &body, const VectorOptions &options);

/// Keeps the elements that a serial loop stores in each iteration in locals while it runs, so that
/// the accumulators of a register tile stay in registers: a back end cannot tell that C[i, j] and
/// C[i + 1, j] differ when strides are only known at run time, the subscripts say so.
///     for k in ...: C[i, j] = C[i, j] + v
/// becomes
///     acc = C[i, j]
///     for k in ...: acc = acc + v
///     C[i, j] = acc
/// and `C[i, j] = 0` before the loop becomes acc = 0.
/// An element that lanes are summed into gets a vector (or several, which take turns) instead:
///     for k in ...: C[i] = C[i] + reduce(add, v)
/// becomes
///     acc = 0
///     for k in ...: acc = acc + v
///     C[i] = C[i] + reduce(add, acc)
StmtPtr promote_accumulators(const StmtPtr &body);

} // namespace tilewright
