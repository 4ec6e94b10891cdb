// Searches look at many terms at once until one of them ends the loop.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// What `break`, `return` and the like have made of a search (leave_loops.h) goes over whole
/// vectors of iterations in which nothing happens but that the test is asked:
///     next = a
///     while next < b and not left:
///       i = next
///       if not left and x[i] == key: at = i;  left = True
///       next = i + 1
/// becomes
///     next = a
///     goes_on = not left and next + lanes <= b
///     while goes_on:
///       if any lane of x[next : next + lanes] == key: goes_on = False
///       else: next = next + lanes;  goes_on = next + lanes <= b
///     while next < b and not left: ...  # as before
/// What the test reads lies side by side, inside its arrays up to b, and nothing that the loop
/// changes. Locals that other iterations set to what depends on i alone are set once for all that
/// were gone over.
void find_first(Kernel &kernel);

} // namespace tilewright
