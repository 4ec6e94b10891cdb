// Pipelines of stages, of which each reads some rows of the one before: all of them run strip by
// strip of the last one's rows, each row when it is first needed, and kept while it is read. So
// what goes from stage to stage stays in a cache. Rows that two strips need are computed twice:
// overlapped tiles (Krishnamoorthy et al., PLDI 2007), with sliding windows in them (Ragan-Kelley
// et al., Halide, PLDI 2013).
#pragma once

#include "mapping/mapping.h"
#include "planning/auto/decision.h"
#include "planning/auto/flow_graph.h"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// The commands of the default schedule for a computation.
using StandardCommands = std::function<std::vector<Command>(const std::string &)>;

/// A pipeline in strips:
///     for i: for j: A[i, j] = ...
///     for i: for j: B[i, j] = ... A[i - 1, j], A[i + 1, j] ...
/// becomes
///     parallel for strips:
///       for i in the strip:
///         for j (a vector): A[i + 1, j] = ...  (of three rows that are kept)
///         for j (a vector): B[i, j] = ... A[i - 1, j], A[i + 1, j] ...
struct StripPlan {
  std::set<std::string> members; ///< the stages, and what they lead to
  std::vector<Command> commands;
  Decision decision;
};

/// Of a mapping in which each computation has the loops that it was declared with: the pipelines
/// whose stages nobody else reads, and of which one stage is read in several rows at least. Whether
/// the commands are legal is not asked. Decisions say what was left, and why.
std::vector<StripPlan> plan_pipelines(const Mapping &mapping, const FlowGraph &graph,
                                      const StandardCommands &standard, Decisions &decisions);

} // namespace tilewright
