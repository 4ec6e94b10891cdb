// The order in which one element gets its values, in two schedules of one program.
#pragma once

#include "analysis/unchanged.h"

namespace tilewright {

/// Whether of each two instances that write different values to one element, the one that comes
/// first in `one` comes first in `other`, too. `other` is the same program in another order.
///
/// Two legal orders need not agree in that: a value may be written and read wholly before another
/// one of its element in the first order, and wholly behind it in the second one. Where they do
/// agree, whatever keeps the order of all pairs on which they agree, as tiles of loops that both
/// have outermost in turn (Wolf and Lam, 1991), is legal as well. Replicated statements
/// (compute_at) are not looked at: no.
bool writes_keep_order(const LegalProgram &one, const Program &other);

} // namespace tilewright
