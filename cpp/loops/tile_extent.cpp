#include "loops/tile_extent.h"

#include "loops/traverse.h"

#include <algorithm>

namespace tilewright {

std::optional<Linear> difference(const ValuePtr &a, const ValuePtr &b) {
  if (!is_index(a) || !is_index(b)) {
    return std::nullopt;
  }
  const auto left = linear_of(a);
  const auto right = linear_of(b);
  return left && right ? combine(*left, *right, -1) : std::nullopt;
}

std::optional<std::int64_t> constant_extent(const For &loop) {
  const auto extent = difference(loop.upper, loop.lower);
  return extent && extent->is_constant() ? std::optional(extent->constant) : std::nullopt;
}

bool fits_factor(const For &loop, const Ranges &known) {
  std::vector<ValuePtr> uppers;
  std::vector<ValuePtr> lowers;
  operands_of(Op::Min, loop.upper, uppers);
  operands_of(Op::Max, loop.lower, lowers);
  return std::any_of(uppers.begin(), uppers.end(), [&](const ValuePtr &upper) {
    return std::any_of(lowers.begin(), lowers.end(), [&](const ValuePtr &lower) {
      const auto distance = difference(upper, lower);
      const auto most = distance ? known.of(*distance).upper : std::nullopt;
      return most && *most <= loop.factor;
    });
  });
}

std::optional<TileExtent> tile_extent(const For &loop) {
  const bool tagged = loop.loop == LoopKind::Vector || loop.loop == LoopKind::MaskedVector ||
                      loop.loop == LoopKind::Unrolled;
  if (!is<For>(loop) || !tagged || loop.factor < 2) {
    return std::nullopt;
  }
  TileExtent extent;
  operands_of(Op::Min, loop.upper, extent.uppers);
  operands_of(Op::Max, loop.lower, extent.lowers);
  for (const ValuePtr &upper : extent.uppers) {
    for (const ValuePtr &lower : extent.lowers) {
      const auto distance = difference(upper, lower);
      if (distance && distance->is_constant() && distance->constant == loop.factor) {
        extent.lower = lower;
        extent.upper = upper;
        return extent;
      }
    }
  }
  return std::nullopt;
}

} // namespace tilewright
