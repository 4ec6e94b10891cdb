// Pipelines of stages, of which each reads some rows of the one before: all of them run strip by
// strip of the last one's rows, each row when it is first needed, and kept while it is read. So what
// goes from stage to stage stays in a cache. Rows that two strips need are computed twice:
// overlapped tiles (Krishnamoorthy et al., PLDI 2007), with sliding windows in them (Ragan-Kelley
// et al., Halide, PLDI 2013).
#pragma once

#include "planning/auto/flow_graph.h"
#include "planning/auto/time_tiles.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The stages that lead to one result.
struct Pipeline {
  std::string result;
  std::vector<std::string> stages; ///< in the order of the function, without the result
  size_t dimension = 0;            ///< along which there are strips
  std::vector<std::int64_t> rows;  ///< of each stage: more than the result has, for a strip
  std::vector<bool> by_row;        ///< of each stage: it is read in its own row only
};

/// Of a mapping in which each computation has the loops that it was declared with: the pipelines
/// whose stages nobody else reads, and of which one stage is read in several rows at least.
std::vector<Pipeline> find_pipelines(const Mapping &mapping, const FlowGraph &graph);

/// The commands of the default schedule for a computation.
using StandardCommands = std::function<std::vector<Command>(const std::string &)>;

/// `before` with a pipeline in strips:
///     for i: for j: A[i, j] = ...
///     for i: for j: B[i, j] = ... A[i - 1, j], A[i + 1, j] ...
/// becomes
///     parallel for strips:
///       for i in the strip:
///         for j (a vector): A[i + 1, j] = ...  (of three rows that are kept)
///         for j (a vector): B[i, j] = ... A[i - 1, j], A[i + 1, j] ...
/// Nothing where that is not legal or would not pay; a decision says why, if it might have.
std::optional<LegalMapping> with_strips(const LegalMapping &before, const Pipeline &pipeline,
                                        const StandardCommands &standard, Decisions &decisions);

} // namespace tilewright
