// Sums and folds of which data pick the result for each term: a histogram, the sum of the rows that
// belong to a segment or come in at a node of a graph.
#pragma once

#include "mapping/mapping.h"
#include "planning/computation_shape.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tilewright {

/// The commands after which each term updates the result that data pick, in place of a search
/// through all of them:
///     for n: for e: if n == to[e]: y[n] += x[e]
/// becomes
///     for e: y[to[e]] += x[e]
/// If whole rows are picked, y[to[e], d] += x[e, d], each is updated in vectors. The first `shared`
/// loops stay. The shape has picked iterators.
std::vector<Command> picked_updates(const Mapping &mapping, const std::string &computation,
                                    const Shape &shape, size_t shared);

} // namespace tilewright
