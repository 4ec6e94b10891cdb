// What a sum reads of a padded operand is chosen lane by lane, so that its tile keeps one form.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Gives the outcome of a test to a local, by which the lanes of a vector loop then choose. It is a
/// test between two values in a loop whose results are summed up over a loop outside, and differs
/// from one of its iterations to the next:
///     for s in range(0, 3):
///       for v in range(0, 8):  # vector(8)
///         if 1 <= 8*x + v + s and 8*x + v + s <= W: chosen = X[8*x + v + s - 1]
///         else: chosen = 0
///         Y[8*x + v] = Y[8*x + v] + w[s] * chosen
/// becomes
///         holds = 1 <= 8*x + v + s and 8*x + v + s <= W
///         if holds: chosen = X[8*x + v + s - 1]
///         else: chosen = 0
/// which passes that make versions of loops leave alone.
/// Code of its own for the iterations where the test holds in all lanes would be inside the loop
/// over s, and could not keep Y in registers around it. A load under a mask costs little more than
/// one without. Tests stay as they are where a branch reads what all lanes share, or reads elements
/// for which the target has no masks (`masked_bytes` and wider; 0 is none).
StmtPtr choose_by_lanes(const StmtPtr &body, int masked_bytes);

} // namespace tilewright
