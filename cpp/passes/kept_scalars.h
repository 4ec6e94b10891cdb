// Which scalars carry a value from one iteration to another one.
#pragma once

#include "loops/loop_ir.h"

#include <set>

namespace tilewright {

/// Scalars that some statement reads without another one that has set them before.
class KeptScalars {
public:
  /// Where that other statement has to stand.
  enum class Set {
    InIteration, ///< in the same iteration of the loops around: nobody reads what one leaves
    Before       ///< anywhere before it on each way there
  };
  KeptScalars(const StmtPtr &root, Set where) : where_(where) { visit(root, {}); }

  bool contains(std::int64_t buffer) const { return kept_.contains(buffer); }

private:
  using Buffers = std::set<std::int64_t>;

  /// Returns what is set behind the statement, given what is before it.
  Buffers visit(const StmtPtr &statement, Buffers set);

  Set where_;
  Buffers kept_;
};

} // namespace tilewright
