// Where the lanes of a vector lie, as far as that is known when it is compiled.
#pragma once

#include "loops/value.h"

#include <vector>

namespace tilewright {

/// Do no two lanes have the same subscripts, whatever the scalars among them are? Subscripts are
/// sums of lanes, of their multiples, and of the quotients that loops over two dimensions at once
/// have: (lane // 2, lane - 2 * (lane // 2)). What else there is tells no lanes apart.
bool lanes_are_apart(const std::vector<ValuePtr> &subscripts, int lanes);

} // namespace tilewright
