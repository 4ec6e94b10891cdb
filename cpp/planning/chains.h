// Chains side by side. If iterations of an innermost loop need each other, a processor waits for
// each of them to end: it runs at the latency of its operations. Iterations of the loop around are
// as many chains. Skewed against each other so far that none needs another at the same time, some
// of them run at once (unroll and jam along a wavefront; Wolf and Lam, 1991; Callahan, Cocke and
// Kennedy, 1988). No operation changes, nor the order of any that need each other.
#pragma once

#include "planning/auto/flow_graph.h"
#include "planning/latency.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The loops of a computation that are to run side by side, as functions of its instances.
struct ChainLoops {
  std::vector<isl::pw_aff> outside; ///< all loops around these
  isl::pw_aff around;               ///< of which each iteration is a chain
  isl::pw_aff inner;                ///< innermost: along the chain
};

struct Chains {
  std::int64_t count = 0; ///< iterations that run at once
  std::int64_t skew = 0;  ///< of the inner loop by the one around it

  /// Of loops with these names, which are the last ones of a nest:
  ///     for i: for j: X[i, j] = ... X[i, j - 1] ... X[i - 1, j + 1] ...
  /// becomes
  ///     for i0: for j + 2 * i1: for i1 in 8 (unrolled): X[8 * i0 + i1, j] = ...
  std::vector<Command> commands(const std::string &computation, const std::string &around,
                                const std::string &inner) const;
  std::string why(const std::string &around, const std::string &inner) const;
};

/// Whether so much is waited for that chains side by side are worth while.
bool is_worth_chains(const IterationCost &cost);

/// Of computations that share these loops. Nothing where no iteration needs the one before it, or
/// no small skew sets the chains apart. Where values are stored is not asked here.
std::optional<Chains> find_chains(const FlowGraph &graph,
                                  const std::map<std::string, ChainLoops> &loops);

} // namespace tilewright
