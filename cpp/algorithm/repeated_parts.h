// What the expressions of a function compute more than once: in several places, if only with other
// iterators, or in iterations of a loop that it does not depend on.
#pragma once

#include "algorithm/function.h"

#include <set>
#include <string>

namespace tilewright {

/// A function that takes tens of operations: a power, an exponential, a sine.
bool is_elementary(Op op);

/// Parts are compared by their keys (expression_key.h).
class RepeatedParts {
public:
  explicit RepeatedParts(const Function &function);

  /// Is this the key of a reduction that occurs more than once in a computation?
  bool has_reduction(const std::string &key) const { return reductions_.contains(key); }
  /// Is this the key of a value that is worth an element of memory, and that a computation needs
  /// in several loops, the exponential in exp(x[i,j]) / sum(exp(x[i,k]) for k), or again and again
  /// (computes_again)?
  bool has_value(const std::string &key) const { return values_.contains(key); }
  bool has_values() const { return !values_.empty(); }
  /// Is this the key of a fold of several states (its first result) that several computations need?
  bool has_fold(const std::string &key) const { return folds_.contains(key); }
  bool has_folds() const { return !folds_.empty(); }

  /// Does it take much longer to compute such a value than to load it?
  static bool is_costly(const Expr &part);

  /// Does it compute such a value of an element anew in each iteration of a loop that the value
  /// does not depend on, outside of one that it does: tanh(x[i,k]) for each j in
  ///     y[i,j] = sum(tanh(x[i,k]) * w[k,j] for k)
  /// As many values as there are elements of x are kept instead, and no more, unless they are few,
  /// whatever the sizes are: cos(2 pi / 64 * k * n) in y[m,k] = sum(x[m,n] * cos(...) for n < 64),
  /// for k < 33. And so is the one value of exp(a[]) in y[i] = exp(a[]) * x[i].
  static bool computes_again(const Computation &computation);

private:
  void find_folds(const Function &function);

  std::set<std::string> reductions_;
  std::set<std::string> values_;
  std::set<std::string> folds_;
};

} // namespace tilewright
