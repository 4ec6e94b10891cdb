// Memory of recurrences: of the steps of a computation along its outermost iterator, X[t, i] with
// the loop over t outside, as many are kept as are needed at one time, however the loops inside of
// t run.
#pragma once

#include "mapping/mapping.h"

namespace tilewright {

/// `mapping`, which is legal, with storage_fold(t, d) for temporaries of recurrences whose loop
/// over t stands outside of others, and of whose steps a few (d) are alive at a time. Nothing else
/// is changed: what runs in parallel or in vectors still does.
Mapping with_kept_steps(const Mapping &mapping);

} // namespace tilewright
