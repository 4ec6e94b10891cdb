// What rewrites of Layer I begin with: copies of a function's computations that read each other, so
// that a rewrite never changes its argument.
#pragma once

#include "algorithm/function.h"

#include <functional>
#include <map>
#include <memory>

namespace tilewright {

/// The copy of each computation, by its original.
using Copies = std::map<const Computation *, ComputationPtr>;

/// A copy of the function and its computations that reads only copies. Inputs are shared.
std::shared_ptr<Function> copy_function(const Function &function, Copies &copies);

/// The expression with each access changed by `change`, bottom up.
ExprPtr rewrite_accesses(const ExprPtr &node,
                         const std::function<ExprPtr(const ExprPtr &)> &change);

} // namespace tilewright
