// Tile separation: full tiles get loops of constant extent, and the rest of them others.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

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

} // namespace tilewright
