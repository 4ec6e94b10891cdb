// What passes and targets ask of a GPU's kernel: whose terms are put together, which memory is a
// thread's or a block's own, how wide the accesses of a thread may be, and which GPUs can run it.
#pragma once

#include "hardware/gpu.h"
#include "loops/loop_ir.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// An update whose terms several threads have.
bool combines_threads(const LoopStatement &statement);
bool has_combined_updates(const StmtPtr &statement);

/// Whether a buffer is in shared or private memory.
bool is_in_kernel(const KernelBuffer &buffer);

/// The constant size of a buffer in shared or private memory. Throws Error(Schedule) where it has
/// none.
std::int64_t local_bytes(const KernelBuffer &buffer);

/// The largest power of two, at most the widest access, of which so many bytes are a multiple.
std::int64_t alignment_of(std::int64_t bytes);

/// Of what power of two, at most the widest access, the place in bytes of lane 0 of these
/// subscripts is a multiple, wherever address and strides that are not known are multiples of the
/// widest access; 0 where the buffer's elements are not known to be neighbours.
std::int64_t known_alignment(const KernelBuffer &buffer, const std::vector<ValuePtr> &subscripts);

/// The bytes of an access by the lanes of a vector that are neighbours in memory, where known to be
/// a multiple of a width that threads have; else 0. `lanes` of the access.
std::int64_t vector_width(const KernelBuffer &buffer, const std::vector<ValuePtr> &subscripts,
                          int lanes);

/// The least compute capability (80 for 8.0) that has the tiles in this kernel; 0 where it has
/// none. `tile` becomes what needs it.
int least_architecture(const Kernel &kernel, std::string *tile = nullptr);

} // namespace tilewright
