// Which scalars carry a value from one iteration to another one.
#pragma once

#include "loops/loop_ir.h"

#include <set>

namespace tilewright {

/// Scalars that some statement reads without another one that has set them before in the same
/// iteration of the loops around: what an iteration leaves in others is read by nobody.
class KeptScalars {
public:
  explicit KeptScalars(const StmtPtr &root) { visit(root, {}); }

  bool contains(std::int64_t buffer) const { return kept_.contains(buffer); }

private:
  using Buffers = std::set<std::int64_t>;

  /// Returns what is set behind the statement, given what is before it.
  Buffers visit(const StmtPtr &statement, Buffers set);

  Buffers kept_;
};

} // namespace tilewright
