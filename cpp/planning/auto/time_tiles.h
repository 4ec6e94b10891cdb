// Tiles in time for recurrences of which no loop is parallel by itself (stencils, factorisations):
// loops are skewed as isl's band says, so that they can be tiled, tiles on a diagonal run in
// parallel, and values that nobody needs any more are overwritten. Wavefronts of tiles after Wolf
// and Lam, A Loop Transformation Theory (1991); the skews are Pluto's (Bondhugula et al., 2008).
#pragma once

#include "planning/auto/bands.h"
#include "planning/auto/decision.h"
#include "planning/auto/legal_mapping.h"

#include <optional>

namespace tilewright {

/// Whether a computation has as many loops as such tiles need, each by one, and sums up nothing.
bool may_have_time_tiles(const Computation &computation);

/// Whether the members of a band have such tiles; else a decision says why not.
bool can_have_time_tiles(const Mapping &mapping, const Band &band, Decisions &decisions);

/// `before` with the members of the band, which can have them, tiled:
///     for t: for i: for j: X[t, i, j] = ...
/// becomes
///     for diagonals of tiles: parallel for the tiles of one:
///       for t in the tile: for i + t in the tile: for j: X[t, i, j] = ...
/// Nothing, and a decision that says why, where the result would not be legal.
std::optional<LegalMapping> with_time_tiles(const LegalMapping &before, const FlowGraph &graph,
                                            const Band &band, Decisions &decisions);

} // namespace tilewright
