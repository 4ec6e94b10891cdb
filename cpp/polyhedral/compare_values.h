// Pairs of points by how a value of the first one compares with a value of the second one.
#pragma once

#include "polyhedral/isl.h"

namespace tilewright {

/// All pairs of a space for which `first` of the one point is larger than, smaller than or equal to
/// `second` of the other. Of functions that are one expression, where they are defined is not
/// asked: who intersects with this has points for which both are. Then it is one constraint, where
/// isl's own functions for such maps intersect the domains.
isl::map larger_values(const isl::space &pairs, const isl::pw_aff &first,
                       const isl::pw_aff &second);
isl::map smaller_values(const isl::space &pairs, const isl::pw_aff &first,
                        const isl::pw_aff &second);
isl::map equal_values(const isl::space &pairs, const isl::pw_aff &first, const isl::pw_aff &second);

} // namespace tilewright
