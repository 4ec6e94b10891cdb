// Loops that data end walk along arrays without asking in each turn whether they still are in them.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Locals that each turn of a loop changes by the same amount (pointers and counters) are functions
/// of the iteration; while the subscripts that are made of them are inside of their arrays, which
/// is known for all these iterations before, nobody asks:
///     while next < b and not left:
///       i = next
///       index = at
///       assert 0 <= index < n
///       if x[index] == 0: left = True
///       else: at = at + 1
///       next = i + 1
/// becomes
///     first = at; begin = next
///     if 0 <= first:
///       while next < min(b, begin + n - first) and not left:
///         i = next
///         if x[first + i - begin] == 0: left = True
///         else: at = first + i - begin + 1
///         next = i + 1
///     while next < b and not left: ...  # as before
/// What fails, fails where it did, with all that came before. find_first then sees that such
/// elements lie side by side. Loops inside of others, which may have few turns, and long bodies are
/// left alone.
void walk_arrays(Kernel &kernel);

} // namespace tilewright
