// Reductions whose terms are computed by different threads of a block. A loop over threads that
// runs through terms of one element, and what adds to it in loops inside of it or around it, adds
// to a local of each thread; after these loops the threads put their locals together and thread 0
// along these axes updates the element: one tree for each run of the outermost of the loops that
// add to it. The tree exchanges within a warp where threads lie side by side in it (butterflies of
// shuffles), and through shared memory, with a barrier, between warps. All threads of the block
// come to shuffles and barriers: what stands around them is no test but part of what is added (the
// identity where a thread has no term) and of whether the element is written.
#pragma once

#include "loops/loop_ir.h"
#include "loops/traverse.h"

#include <array>

namespace tilewright {

/// What terms of this type are added up in before they leave their thread.
ScalarType accumulator_type(ScalarType type);

/// Brings those updates out of the loops that add to one element, in the launches of `body`:
///     for k0 in ...: for k1 in range(0, 256):  # gpu_thread_x
///         S[i] += A[i, 256 * k0 + k1]  # combined over gpu_thread_x
/// becomes
///     sum = 0
///     for k0 in ...: for k1 in range(0, 256):  # gpu_thread_x
///         sum = sum + A[i, 256 * k0 + k1]
///     S[i] += sum  # combined over gpu_thread_x
/// Sums of float16 and bfloat16 are float32 until the end. Throws Error(Schedule) where an update
/// cannot leave its loop over threads.
StmtPtr gather_thread_terms(const StmtPtr &body, const Kernel &kernel);

/// What is around an update where all threads of a block come to it.
struct ThreadsAround {
  std::array<std::int64_t, 3> threads{1, 1, 1}; ///< of the block
  std::array<bool, 3> covered{};                ///< axes over which a loop is around
  ValuePtr active;                              ///< threads that have this iteration
  bool repeats = false;                         ///< it may come again in the same kernel
};

/// What each thread does for such an update. Adds the buffer to `kernel` through which warps
/// exchange, where they have to.
StmtPtr combine_threads(const AtomicUpdate &update, const ThreadsAround &around, Kernel &kernel,
                        Numbers &numbers);

} // namespace tilewright
