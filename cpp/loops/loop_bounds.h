// The largest and smallest values of index arithmetic over all iterations of some loops around it:
// how many blocks a kernel needs, and whether any iteration of a loop runs at all.
#pragma once

#include "loops/loop_ir.h"

#include <map>
#include <utility>

namespace tilewright {

class LoopBounds {
public:
  /// A loop's variable, which goes from `first` to `last`.
  void define(std::int64_t variable, const ValuePtr &first, const ValuePtr &last) {
    variables_[variable] = {first, last};
  }
  bool depends(const ValuePtr &value) const;
  /// The largest (smallest) that `value` is in any iteration; null where it is not known.
  ValuePtr bound(const ValuePtr &value, bool largest) const;

private:
  std::map<std::int64_t, std::pair<ValuePtr, ValuePtr>> variables_;
};

} // namespace tilewright
