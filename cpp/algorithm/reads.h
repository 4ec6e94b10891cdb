// Who reads whom, and by which names a computation's subscripts are written.
#pragma once

#include "algorithm/affine.h"
#include "algorithm/function.h"

namespace tilewright {

bool reads(const Computation &reader, const Computation &producer);

/// The space of everything that a computation's expressions say: its own iterators, and those that
/// they reduce.
IterationSpace space_of_reads(const Computation &computation);

} // namespace tilewright
