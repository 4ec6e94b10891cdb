// What `while`, `break` and ranges of data have become (python/tilewright/frontends/whiles.py):
// loops over turns that a flag ends, and that nothing else does.
#pragma once

#include "loops/loop_ir.h"

#include <string>
#include <vector>

namespace tilewright {

/// The name of the flag that ends the loop: left_X of a loop over turn_X. Empty for others.
std::string flag_that_ends(const For &loop);

std::vector<ValuePtr> conjuncts_of(const ValuePtr &test);

/// The operand of a `not`; else null.
ValuePtr denied(const ValuePtr &test);

} // namespace tilewright
