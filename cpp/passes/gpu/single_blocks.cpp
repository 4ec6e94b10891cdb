#include "passes/gpu/single_blocks.h"

#include "loops/linear.h"
#include "loops/traverse.h"

#include <array>

namespace tilewright {

namespace {

/// Whether the one iteration of a loop is 0, by its bounds.
bool is_iteration_zero(const For &loop) {
  return as_integer(loop.lower) == 0 && as_integer(loop.upper) == 1;
}

/// Of a launch: axes along which all loops over blocks are so.
std::array<bool, 3> single_axes(const StmtPtr &body) {
  std::array<bool, 3> single = {true, true, true};
  visit_statements(body, [&](const LoopStatement &inner) {
    if (const auto *loop = as_loop(inner, LoopKind::GpuBlock)) {
      bool &along = single[static_cast<size_t>(loop->axis)];
      along = along && is_iteration_zero(*loop);
    }
  });
  return single;
}

StmtPtr without(const std::array<bool, 3> &axes, const StmtPtr &statement, Numbers &numbers) {
  if (const auto *loop = as_loop(statement, LoopKind::GpuBlock);
      loop != nullptr && axes[static_cast<size_t>(loop->axis)]) {
    return without(axes, copy_with(loop->body(), {{loop->id, integer(0)}}, numbers), numbers);
  }
  return map_children(statement,
                      [&](const StmtPtr &child) { return without(axes, child, numbers); });
}

StmtPtr in_launches(const StmtPtr &statement, Numbers &numbers) {
  if (is<Launch>(*statement)) {
    return without(single_axes(statement), statement, numbers);
  }
  return map_children(statement, [&](const StmtPtr &child) { return in_launches(child, numbers); });
}

} // namespace

void take_out_single_blocks(Kernel &kernel) {
  Numbers numbers(kernel.body);
  kernel.body = in_launches(kernel.body, numbers);
}

} // namespace tilewright
