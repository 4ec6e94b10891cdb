// Flags that end loops: what `break`, and the condition of a `while` that does not hold, set.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <vector>

namespace tilewright {

/// Adds the locals that end a loop with this condition once they hold: f and g of
/// `next < n and not f and not g`.
void add_flags(const ValuePtr &condition, std::vector<std::int64_t> &flags);

/// Whether a statement sets one of these, whatever the data are.
bool sets_one_of(const LoopStatement &statement, const std::vector<std::int64_t> &flags);

} // namespace tilewright
