// Tiles in time for recurrences of which no loop is parallel by itself (stencils, factorisations):
// loops are skewed as isl's band says, so that they can be tiled, tiles on a diagonal run in
// parallel, and values that nobody needs any more are overwritten. Wavefronts of tiles after Wolf
// and Lam, A Loop Transformation Theory (1991); the skews are Pluto's (Bondhugula et al., 2008).
#pragma once

#include "analysis/unchanged.h"
#include "planning/auto/bands.h"
#include "planning/auto/decision.h"

#include <memory>
#include <optional>

namespace tilewright {

/// A mapping that was found legal.
struct LegalMapping {
  Mapping mapping;
  std::shared_ptr<const LegalProgram> legal;
};

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

/// Where values of the iterations of a computation's outermost loop, or of another one, are not
/// needed for long, `before` with memory for so many of them as are; else `before`.
LegalMapping with_folded_storage(const LegalMapping &before, const std::string &computation,
                                 const std::string &iterator, Decisions &decisions);

/// What asking about a candidate may take of isl.
inline constexpr std::uint64_t candidate_operation_limit = 20'000'000;

/// The program of a mapping that commands make of `before`, if it is legal; nothing where one of
/// them is refused or isl needs too long.
std::optional<LegalMapping> after_commands(const LegalMapping &before,
                                           const std::vector<Command> &commands,
                                           std::uint64_t operations = candidate_operation_limit);

} // namespace tilewright
