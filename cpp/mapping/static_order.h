// The static part of the time space: computations as leaves of a tree of sequences. A path from the
// root to a leaf has one node more than the computation has loops; positions of the nodes among
// their siblings are s0, s1, ...
#pragma once

#include "mapping/mapping.h"

#include <map>
#include <string>
#include <vector>

namespace tilewright {

/// For each computation its s0 .. sn, n the number of its loops (for computations with an explicit
/// time: the largest number of loops among them, and all of them alike).
std::map<std::string, std::vector<int>> static_order(const MappingState &state);

} // namespace tilewright
