// Where an extremum lies (argmin, argmax), as a fold: its states are the extremum so far and the
// values of the reduced iterators there. Of equal values the one that comes first in lexicographic
// order of the iterators counts, and the first NaN before all, as NumPy has it. That makes the fold
// associative and commutative: its terms may come in any order, and in threads and lanes.
#pragma once

#include "algorithm/function.h"

#include <memory>
#include <vector>

namespace tilewright {

/// The value of each reduced iterator at the first smallest (ReduceArgMin) or largest
/// (ReduceArgMax) `body`; -1 of all of them where there are no terms. Arguments as of `reduce`.
/// Error(Type) for complex numbers, which have no order.
std::vector<ExprPtr> position_of_extremum(Op op, const std::vector<ReduceRange> &ranges,
                                          const ExprPtr &body, const ExprPtr &condition = nullptr,
                                          const ExprPtr &predicate = nullptr);

/// Is this Reduce such a fold, of one reduced iterator?
bool is_extremum(const Expr &reduction);

/// `function` itself, or a copy in which such folds stand for the argmin and argmax, so that they
/// have loops and are scheduled as any fold is.
std::shared_ptr<const Function> extrema_as_folds(const std::shared_ptr<const Function> &function);

} // namespace tilewright
