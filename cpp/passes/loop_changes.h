// What a loop changes, and what is the same in all of its iterations.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <set>

namespace tilewright {

class LoopChanges {
public:
  explicit LoopChanges(const For &loop);

  /// Is the value the same in all iterations?
  bool is_fixed(const ValuePtr &root) const;

private:
  std::set<std::int64_t> variables_;
  std::set<std::int64_t> buffers_; ///< written, made, or given to functions
  std::set<std::int64_t> locals_;
};

} // namespace tilewright
