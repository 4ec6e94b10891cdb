// Whether some instance needs its own value, directly or through others, which no order can
// compute. Asked when a function is made: of each group of computations that read each other, a
// dimension along which all reads go one way takes part in no circle but where it stays the same;
// of what is left, the reads are followed some steps. What is found is exact, with instances and
// parameters as a witness. What is not found, because it takes longer chains or data decide it, is
// left to the legality of the schedule and to the evaluator.
#pragma once

#include "algorithm/function.h"

namespace tilewright {

/// Throws Error(Cycle) that names the instances of a shortest circle found.
void check_self_dependence(const Function &function);

} // namespace tilewright
