// Recurrences through several computations: their members run one after the other in each iteration
// of common outer loops, as many as possible.
#pragma once

#include "mapping/mapping.h"

#include <functional>
#include <string>
#include <vector>

namespace tilewright {

/// The members of each group in as many common outer loops as the flow of values among them allows,
/// in the first order by name: where the first one of them stands, and where the last one does. If
/// there are none, loops that the values flow against run backwards.
/// None if there is a group that can have no such loops. Flow knows nothing of what runs before the
/// terms of a sum and behind them, nor of what stands between the members: whether one of the
/// mappings is legal is to be asked.
std::vector<Mapping> in_common_loops_by_flow(const Mapping &mapping,
                                             const std::vector<std::vector<std::string>> &groups);

/// The same for one group by asking about each number of loops and, of few members, each order;
/// `mapping` if none of them is legal.
Mapping in_common_loops_by_trial(const Mapping &mapping, const std::vector<std::string> &group,
                                 const std::function<bool(const Mapping &)> &is_legal);

} // namespace tilewright
