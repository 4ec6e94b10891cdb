#include "lowering/tile_extent.h"

namespace tilewright {

std::optional<Linear> difference(const ValuePtr &a, const ValuePtr &b) {
  if (!is_index(a) || !is_index(b)) {
    return std::nullopt;
  }
  const auto left = linear_of(a);
  const auto right = linear_of(b);
  return left && right ? combine(*left, *right, -1) : std::nullopt;
}

std::optional<TileExtent> tile_extent(const LoopStatement &loop) {
  const bool tagged = loop.loop == LoopKind::Vector || loop.loop == LoopKind::MaskedVector ||
                      loop.loop == LoopKind::Unrolled;
  if (loop.kind != StatementKind::For || !tagged || loop.factor < 2) {
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
