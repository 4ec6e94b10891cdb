// The points between those of a set.
#pragma once

#include "polyhedral/isl.h"

namespace tilewright {

/// The simple hull. A union of ranges that end at different parameters has one without an end;
/// there, each dimension begins with the first of `points` and ends with the last, so that the
/// result is no basic set. Points without an end have a hull without one.
isl::set bounded_hull(const isl::set &points);

} // namespace tilewright
