// What the expressions of a function compute more than once, if only with other iterators.
#pragma once

#include "algorithm/function.h"

#include <set>
#include <string>

namespace tilewright {

/// Parts are compared by their keys (expression_key.h).
class RepeatedParts {
public:
  explicit RepeatedParts(const Function &function);

  /// Is this the key of a reduction that occurs more than once in a computation?
  bool has_reduction(const std::string &key) const { return reductions_.contains(key); }
  /// Is this the key of a value that is worth an element of memory, and that a computation needs
  /// in several loops: the exponential in exp(x[i,j]) / sum(exp(x[i,k]) for k)?
  bool has_value(const std::string &key) const { return values_.contains(key); }
  bool has_values() const { return !values_.empty(); }
  /// Is this the key of a fold of several states (its first result) that several computations need?
  bool has_fold(const std::string &key) const { return folds_.contains(key); }
  bool has_folds() const { return !folds_.empty(); }

  /// Does it take much longer to compute such a value than to load it?
  static bool is_costly(const Expr &part);

private:
  void find_folds(const Function &function);

  std::set<std::string> reductions_;
  std::set<std::string> values_;
  std::set<std::string> folds_;
};

} // namespace tilewright
