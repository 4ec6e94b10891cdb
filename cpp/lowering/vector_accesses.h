// Vector-width accesses of a GPU's threads, which must be at addresses that are multiples of their
// width, while the arrays of a call may begin anywhere. What the subscripts say is known here; the
// rest, an array's address and strides, is asked where a thread needs it: the same for all of them,
// so that one branch, which all take together, tells the wide accesses from narrow ones.
#pragma once

#include "lowering/loop_ir.h"

#include <cstdint>
#include <vector>

namespace tilewright {

/// What a thread loads or stores at once at most.
inline constexpr std::int64_t widest_access = 16;

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

/// Puts what has such accesses to arrays under If(Aligned), as it is; else there is a copy of it:
///     C[4*i : 4*i + 4] = A[4*i : 4*i + 4]
/// becomes
///     if aligned(A, 16) and aligned(C, 16): C[4*i : 4*i + 4] = A[4*i : 4*i + 4]
///     else: C[4*i : 4*i + 4] = A[4*i : 4*i + 4]
/// of which the targets make wide accesses in the first place only. Before map_launches.
void align_vectors(Kernel &kernel);

} // namespace tilewright
