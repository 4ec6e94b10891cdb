// Loops that sum up: each iteration updates the same elements. What such a loop has inside decides
// whether its sums can stay in registers while it runs, so the loops of a tile that are not full
// are brought outside of it where that changes nothing.
#pragma once

#include "loops/linear.h"

namespace tilewright {

bool mentions(const ValuePtr &root, std::int64_t variable);

/// Does something in `root` store the same element in all iterations of the loop `variable` around
/// it?
bool accumulates(const StmtPtr &root, std::int64_t variable);

/// `outer`, whose body is the loop `inner`, with the two exchanged; null unless that is known to
/// compute the same: the iterations of `inner` update elements of their own, the same in all
/// iterations of `outer`, and no others are read that are written.
///     for k in ...: for r in ...: C[r] = C[r] + A[r, k]
/// becomes
///     for r in ...: for k in ...: C[r] = C[r] + A[r, k]
StmtPtr with_rows_outside(const For &outer);

} // namespace tilewright
