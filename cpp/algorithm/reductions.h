// Which reduction a computation is scheduled by: its own value, or one that its value is made of
// (a sum to which a bias is added, that is scaled, or goes through an activation). AlphaZ isolates
// such a reduction in a variable of its own (TR 12-101, NormalizeReduction); here its terms are
// combined where the element itself lies, and the rest of the expression, the epilogue, is computed
// from what they come to.
#pragma once

#include "algorithm/function.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {

/// Whether terms can be combined one by one where the result lies: a Reduce with a combiner of two
/// operands, a Fold.
bool is_combined(const Expr &value);

/// The reduction by whose terms `computation` is scheduled (a Reduce or a Fold), or null. The
/// computation has one piece and does not read itself; the reduction is combined and, unless it is
/// all of the value or has several states, of the computation's type, and is computed for every
/// element: it does not stand in a branch of a select, in a loop over states, in a subscript or in
/// another reduction. Of several the first one as they are written.
ExprPtr scheduled_reduction(const Computation &computation);

/// Is it one of the results of a fold of several states? These lie in memory of their own beside
/// the element (Program::states).
bool has_several_states(const Expr &value);
bool contains_several_states(const ExprPtr &value);
/// Another result of the same fold.
ExprPtr result_of(const ExprPtr &fold, size_t position);
/// Its first one.
ExprPtr first_result(const ExprPtr &fold);
/// All results of such a fold within `value` that are not in other reductions.
std::vector<ExprPtr> results_of_fold(const ExprPtr &value, const Expr &reduction);
/// The results of an associative fold, of which the terms are combined in lexicographic order only:
/// its function is not commutative.
std::vector<ExprPtr> with_terms_in_order(const std::vector<ExprPtr> &results);
/// May the terms of a Reduce be grouped, so that results of some of them are combined?
bool is_associative(const Expr &reduction);
/// The states of the fold by which a computation is scheduled, if they are several; else none.
std::vector<ExprPtr> scheduled_states(const Computation &computation);
/// What one of these is called: C_mean for the state `mean` of C.
std::string state_name(const Computation &computation, size_t state);

/// All of which it is the first one.
std::vector<ExprPtr> schedulable_reductions(const Computation &computation);

/// `root` with nodes of it replaced, at once: what is replaced is not looked into.
ExprPtr with_replaced(const ExprPtr &root, std::unordered_map<const Expr *, ExprPtr> by);
/// The same of one node.
ExprPtr with_replaced(const ExprPtr &root, const ExprPtr &node, const ExprPtr &by);

/// Whether `value` reads elements of `computation`.
bool reads(const ExprPtr &value, const Computation &computation);

} // namespace tilewright
