// What the loops and tests around a place say of index values there: the intervals in which these
// lie, and which of them end below others. What the simplifier decides comparisons with, and by
// which passes know that a loop has iterations.
#pragma once

#include "loops/linear.h"

#include <unordered_map>
#include <vector>

namespace tilewright {

class EnclosingLoops {
public:
  explicit EnclosingLoops(Ranges known) : ranges_(std::move(known)) {}

  /// What is asked from now on stands in the body of `loop`, until it is left.
  void enter(const For &loop);
  void leave(const For &loop);
  /// What is asked stands behind this test as well, until forget().
  struct Known {
    Ranges ranges;
    size_t tests;
  };
  Known assume(const ValuePtr &test);
  void forget(Known before);

  /// Does `value` stay above zero because of where the loops around end? Where j < (M + 15) // 16,
  /// M - 16 * j >= M - 16 * ((M + 15) // 16 - 1) >= M - (M + 15) + 16 = 1.
  bool is_positive(const Linear &value) const { return is_positive(value, 4); }
  /// Is `condition` a comparison of index values that holds by the loops and tests around?
  bool holds(const ValuePtr &condition) const;
  const Ranges &ranges() const { return ranges_; } ///< of variables and parameters

private:
  bool is_positive(const Linear &value, int depth) const;

  Ranges ranges_;
  std::unordered_map<std::int64_t, std::vector<Linear>> last_; ///< of variables: at most all these
  std::vector<ValuePtr> tests_;                                ///< of index values, that hold
};

} // namespace tilewright
