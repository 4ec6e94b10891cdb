// The end of computations over unbounded time (streams): a parameter that no function of finite
// arrays has. What is declared before its end is known to exist at all later times, so that a
// stream may be read at another rate than its reader's: y[n] = x[2 n + 1].
#pragma once

#include "polyhedral/isl.h"

namespace tilewright {

/// Its name; Python's `tw.forever`.
inline constexpr const char *forever_name = "forever";

/// Whether the parameter occurs.
bool lasts_forever(const isl::set &domain);

/// The elements that there are at some time.
isl::set at_all_times(const isl::set &domain);

} // namespace tilewright
