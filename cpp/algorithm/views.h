// Views: computations that only read. Each element of a view is an element of a producer, chosen by
// affine conditions on the view's iterators (a version of an array: which of its writers each
// element was written by). A view makes no statement and no copy: who reads it reads the producers
// instead, and an output that is a view lies in the same memory as what it shows wherever a
// schedule stores its producers there.
//     V[i] = A[i] for i < 3, B[i - 3] for i >= 3;  C[i] = 2 * V[i]
// becomes
//     C[i] = 2 * select(i < 3, A[i], B[i - 3])
#pragma once

#include "algorithm/function.h"

#include <memory>
#include <utility>
#include <vector>

namespace tilewright {

/// What a view reads on each part of `domain`. `value` is made of reads and of selects of such by
/// affine conditions. Throws Error(Declaration) where it computes anything.
std::vector<std::pair<isl::set, ExprPtr>> parts_of_view(const Computation &view,
                                                        const isl::set &domain,
                                                        const ExprPtr &value,
                                                        const SourceLocation &where);

/// The read of the last producer that has the instance: phi(A[i], B[i - 1]) is B[i - 1] where i - 1
/// is in the domain of B, and A[i] elsewhere (the phi of Tiramisu's papers, by domains). Throws
/// Error(Declaration) for anything but reads at affine subscripts.
ExprPtr phi(const std::vector<ExprPtr> &reads, const SourceLocation &where);

/// `function` itself, or a copy without views that are no outputs, in which nobody reads an output
/// that is one. A view that needs its own elements stays as an ordinary computation: its elements
/// have to be somewhere. So does one that is read at a computed subscript, if the subscript could
/// name an element of what it shows that is none of its own, or if what it shows is computed from
/// its readers.
std::shared_ptr<const Function> resolve_views(const std::shared_ptr<const Function> &function);

} // namespace tilewright
