// Which reduction a computation is scheduled by: its own value, or one that its value is made of
// (a sum to which a bias is added, that is scaled, or goes through an activation). AlphaZ isolates
// such a reduction in a variable of its own (TR 12-101, NormalizeReduction); here its terms are
// combined where the element itself lies, and the rest of the expression, the epilogue, is computed
// from what they come to.
#pragma once

#include "algorithm/function.h"

#include <unordered_map>
#include <vector>

namespace tilewright {

/// Whether terms can be combined one by one in the element itself: a Reduce with a combiner of two
/// operands, a Fold of one state.
bool is_combined(const Expr &value);

/// The reduction by whose terms `computation` is scheduled (a Reduce or a Fold), or null. The
/// computation has one piece and does not read itself; the reduction is combined and, unless it is
/// all of the value, the computation's type, and is computed for every element: it does not stand
/// in a branch of a select, in a loop over states, in a subscript or in another reduction. Of
/// several the first one as they are written.
ExprPtr scheduled_reduction(const Computation &computation);

/// All of which it is the first one.
std::vector<ExprPtr> schedulable_reductions(const Computation &computation);

/// `root` with nodes of it replaced, at once: what is replaced is not looked into.
ExprPtr with_replaced(const ExprPtr &root, std::unordered_map<const Expr *, ExprPtr> by);
/// The same of one node.
ExprPtr with_replaced(const ExprPtr &root, const ExprPtr &node, const ExprPtr &by);

/// Whether `value` reads elements of `computation`.
bool reads(const ExprPtr &value, const Computation &computation);

} // namespace tilewright
