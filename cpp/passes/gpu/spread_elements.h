// Loops of a GPU's kernel that no command maps, and whose iterations have an element each: what the
// elements of a reduction begin with, and what is made of them at the end.
#pragma once

#include "loops/loop_ir.h"

namespace tilewright {

/// Gives loops to threads that store a constant to the elements of a buffer, or of each element
/// what is computed from its own value and other buffers; no order of the iterations shows then.
/// - Where such a nest is all that a kernel of one thread does, it becomes blocks of threads.
/// - Between two places at which all threads of a block wait, or the kernel's start and one of
///   these, it is dealt out to the threads. Elsewhere it stays with thread 0, which need not wait
///   for what it touched itself.
///     kernel:  # 1 thread a block
///       for i in range(0, N): C[i] = 0
/// becomes
///     kernel:  # 256 threads a block
///       for i0 in range(0, (N + 255) // 256):            # gpu_block_x
///         for i1 in range(0, min(256, N - 256 * i0)):    # gpu_thread_x
///           C[256 * i0 + i1] = 0
void spread_elements(Kernel &kernel);

} // namespace tilewright
