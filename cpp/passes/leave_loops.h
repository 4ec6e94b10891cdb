// A loop that has nothing left to do once a truth value is set ends there.
#pragma once

#include "loops/loop_ir.h"

#include <string>
#include <vector>

namespace tilewright {

/// Makes a serial loop whose iterations all do nothing once a flag holds, which they only ever set,
/// one that ends then: what `break` and `while` of a translated program have become.
///     for i in range(a, b):
///       if not left[()]: ...; left[()] = c or left[()] = True under a test
/// becomes
///     next = a
///     while next < b and not left[()]:
///       i = next
///       if not left[()]: ...
///       next = i + 1
/// In a GPU's kernel loops around blocks and threads stay: no thread may leave the others.
/// The flag is an element of a bool buffer, or a local, that no other iteration means another one
/// by. Scalars of an iteration alone may be set without a test. Where the first iteration alone
/// does something while the flag holds, as counters that begin with 0 there do, the flag is asked
/// behind each iteration:
///     next = a; done = False
///     while next < b and not done:
///       i = next
///       if not left[()]: ...
///       next = i + 1; done = left[()]
/// Where a test that is the same in all iterations stands around all that sets the flag of a loop
/// that nothing else ends, and around all that an iteration leaves behind but the first one
/// (`if x > 0: while ...`), one iteration is enough if it fails.
void leave_loops(Kernel &kernel);

/// Whether a loop still runs as often as one of these parameters says: it was not found to have
/// nothing left to do.
bool runs_to_parameter(const Kernel &kernel, const std::vector<std::string> &parameters);

} // namespace tilewright
