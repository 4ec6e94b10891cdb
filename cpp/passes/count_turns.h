// Loops that data end because a counter does: their number of iterations is known before.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Bounds a loop that a flag ends by the count at which its own statement sets that flag:
///     for turn_j in range(0, while_limit):
///       if not left_j[()] and a and start + 2 * turn_j < stop: S
///       if not left_j[()] and a and not start + 2 * turn_j < stop: left_j[()] = True
/// becomes
///     if not left_j[()]:
///       for turn_j in range(0, min(while_limit, (stop - start + 1) // 2 if start < stop else 0)):
///         if not left_j[()] and a: S
/// where nothing in the loop changes `start`, `stop` or `a`, and nobody asks for the flag behind
/// it. Division and checks of the condition are done once, and a compiler can count.
void count_turns(Kernel &kernel);

} // namespace tilewright
