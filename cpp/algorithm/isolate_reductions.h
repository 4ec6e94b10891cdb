// Reductions that stand within an expression become computations of their own, with loops that can
// be scheduled (AlphaZ: NormalizeReduction, TR 12-101, section 4). What an expression does not need
// anew for each of its elements is computed once:
//     y[i,j] = (x[i,j] - sum(x[i,k] for k) / M) * g[j]
// becomes
//     y_sum[i] = sum(x[i,k] for k) / M;  y[i,j] = (x[i,j] - y_sum[i]) * g[j]
#pragma once

#include "algorithm/function.h"

#include <memory>

namespace tilewright {

/// `function` itself, or a copy in which parts of expressions are isolated, each named after its
/// reader and its first reduction (y_max, y_sum, y_sum2). Isolated is
/// - the largest part that contains a reduction and uses fewer iterators than there are around it,
/// - a reduction that uses all of them, unless its computation is scheduled by it
///   (scheduled_reduction) or it has few terms whatever the parameters are,
/// - a reduction that occurs once more, if only with other iterators: both read one computation,
/// - a value of an elementary function that is needed in several loops: y_exp[i,j] of
///   exp(x[i,j]) / sum(exp(x[i,k]) for k), or that is computed again and again (repeated_parts.h):
///   y_tanh[i,k] of sum(tanh(x[i,k]) * w[k,j] for k),
/// - a fold of several states, each of its results for itself; if several computations need one,
///   they read the states of one computation, which is one of them if it is the fold alone.
/// An argmin or argmax is such a fold (extrema.h). A reduction of reductions of the same operation
/// becomes one, over the iterators of both. A reduction stays where it is if it is all that a
/// computation is, if data decide whether it is needed, or if it depends on its own reader. What is
/// computed stays the same: an isolated part has the instances that its readers need.
std::shared_ptr<const Function> isolate_reductions(const std::shared_ptr<const Function> &function);

} // namespace tilewright
