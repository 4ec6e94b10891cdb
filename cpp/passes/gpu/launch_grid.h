// The grid of one launch: how many blocks its loops over blocks need, along each axis, and which
// value each of them gives a loop.
#pragma once

#include "loops/linear.h"
#include "loops/loop_bounds.h"

#include <array>
#include <cstdint>
#include <set>
#include <vector>

namespace tilewright {

class LaunchGrid {
public:
  /// `body` of a launch; `ranges` of what is known outside of it. Throws Error(Schedule) where the
  /// number of blocks is not known before the launch.
  LaunchGrid(const StmtPtr &body, const Ranges &ranges);

  /// Blocks along x, y and z.
  std::vector<ValuePtr> extents() const;
  /// `body` for the block's iteration of the loop, if it has one.
  StmtPtr at_block(const For &loop, const StmtPtr &body) const;

private:
  void find(const StmtPtr &statement);
  bool depends_on_inner(const ValuePtr &value) const;
  ValuePtr blocks_along(size_t axis) const;
  bool continues_along_z() const;

  const Ranges &ranges_;
  std::array<int, 3> loops_{};    ///< over blocks along each axis
  std::array<ValuePtr, 3> first_; ///< of their values; null where there is none
  std::array<ValuePtr, 3> end_;
  std::set<std::int64_t> inner_; ///< variables that a block defines
  LoopBounds over_blocks_;
};

} // namespace tilewright
