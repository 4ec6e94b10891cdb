// Whether the threads of a block may copy what a later iteration reads while they work on this one:
// where the iterations come one after the other, and nothing that is copied is written in the
// meantime. Asked for buffers of several stages before passes/gpu/staged_copies.h moves their
// copies.
#pragma once

#include "analysis/gpu_kernels.h"

namespace tilewright {

/// Throws Error(Schedule) for a copy that may not come sooner: the loop, or the two computations
/// and two of their instances.
void check_copies_ahead(const Program &program, const GpuKernels &kernels);

} // namespace tilewright
