// Partial results of a fold that is associative and not commutative. They are combined in the order
// of the loop that is factored out, so the value of that loop must not fall from one term to a
// later one: then each partial result has terms that stand together, and comes before those of
// later terms. It is a question about the declared order alone, which no later command changes, and
// is answered when the partial results are made.
#pragma once

#include "mapping/mapping.h"

namespace tilewright {

/// Throws Error(IllegalSchedule) with two terms of one element if `loop` has the first of them in a
/// partial result that comes behind that of the second. `context` is what is known of parameters.
void require_order_of_partials(const isl::set &context, const Computation &folded,
                               const LoopDimension &loop, const Command &command);

} // namespace tilewright
