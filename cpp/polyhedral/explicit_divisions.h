// Sets without integers that are only said to exist.
#pragma once

#include "polyhedral/integer_set.h"

namespace tilewright {

/// The same points, with a formula for each integer that is only said to exist: of "exists e: i - M
/// <= 2e <= i", e is floor(i/2). What isl is told twice it then sees to be the same, so that
/// intersections do not grow.
IntegerSet explicit_divisions(const IntegerSet &set);

} // namespace tilewright
