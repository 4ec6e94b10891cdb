// The road of the loop passes: a table of what is done to translated loops, in order, until targets
// take them. Each pass takes a kernel that verify_kernel accepts and leaves one that computes the
// same values; none needs another to have run, except where its header says so, and each is better
// after simplify_indices. A new pass is a header and a file of its own in passes/ (passes/gpu/ if
// only GPUs need it) and one row here.
#pragma once

#include "loops/linear.h"
#include "passes/vector_loop.h"

#include <functional>
#include <span>

namespace tilewright {

/// What passes are told beside the kernel.
struct PassOptions {
  Ranges known;                     ///< of the parameters
  VectorOptions vectors;            ///< of the target
  bool asynchronous_copies = false; ///< of global to shared memory, which that GPU has
  bool is_instrumented = false;     ///< something is watched beside the work
  bool for_people = false;          ///< the loops are printed, and Vector loops are to stay loops
  bool for_source = false;          ///< beside for_people: what is printed is compiled as C
};

struct Pass {
  const char *name;
  void (*run)(Kernel &kernel, const PassOptions &options);
  /// Whether a kernel goes this way.
  bool (*runs)(const Kernel &kernel, const PassOptions &options);
};

/// The table.
std::span<const Pass> road();

/// Called after each pass with its name and the seconds that it took.
using PassObserver = std::function<void(const char *name, const Kernel &kernel, double seconds)>;

/// Runs the kernel down the road. `observer` may be empty. `verifies`: verify_kernel is asked after
/// each pass, and an Error(Internal) names the pass that broke the kernel.
void run_passes(Kernel &kernel, const PassOptions &options, const PassObserver &observer,
                bool verifies);

} // namespace tilewright
