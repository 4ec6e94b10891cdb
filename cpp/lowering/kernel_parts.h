// What stands one after the other in a GPU's kernel, with barriers where threads must wait for each
// other: between two parts as late as possible, so that one serves all that need one there, and in
// a loop for what one iteration leaves to a later one. Which need one is asked of
// analysis/gpu_kernels.h.
#pragma once

#include "analysis/gpu_kernels.h"
#include "loops/loop_ir.h"

#include <optional>
#include <vector>

namespace tilewright {

struct KernelPart {
  StmtPtr loops;
  std::vector<size_t> statements; ///< positions in the program of those in it
};

/// `levels`: so many loops are around. `is_loop_body`: the innermost of them runs its iterations
/// one after the other, and these parts are its body.
StmtPtr with_barriers(const GpuKernels &kernels, const std::vector<KernelPart> &parts,
                      size_t levels, bool is_loop_body);

/// Throws Error(Schedule) where threads must wait for each other between such parts, which stand
/// inside a loop over threads, where not all threads come by.
void require_no_barriers(const GpuKernels &kernels, const Program &program,
                         const std::vector<KernelPart> &parts, size_t levels, bool is_loop_body);

} // namespace tilewright
