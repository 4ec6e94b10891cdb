#include "passes/gpu/launch_grid.h"

#include "hardware/gpu.h"
#include "loops/traverse.h"

namespace tilewright {

LaunchGrid::LaunchGrid(const StmtPtr &body, const Ranges &ranges) : ranges_(ranges) { find(body); }

// Which values the loops over blocks have along each axis, taken together: a block has the same
// value in all of them.
void LaunchGrid::find(const StmtPtr &statement) {
  if (const auto *loop = as_loop(statement, LoopKind::GpuBlock)) {
    const auto axis = static_cast<size_t>(loop->axis);
    const ValuePtr first = over_blocks_.bound(loop->lower, false);
    const ValuePtr end = over_blocks_.bound(loop->upper, true);
    const bool is_known = first && end && !depends_on_inner(first) && !depends_on_inner(end);
    if (!is_known) {
      throw Error(ErrorKind::Schedule,
                  "how many blocks loop '" + loop->name +
                      "' needs is not known before the launch, as its bounds depend on another "
                      "loop in a way that has no simple bound; map it to threads, or run it in "
                      "each block");
    }
    ++loops_[axis];
    first_[axis] = first_[axis] ? minimum(first_[axis], first) : first;
    end_[axis] = end_[axis] ? maximum(end_[axis], end) : end;
    over_blocks_.define(loop->id, first, sub(end, integer(1)));
  } else if (const std::int64_t *own = defined_variable(*statement)) {
    inner_.insert(*own);
  }
  for (const StmtPtr &child : statement->children) {
    find(child);
  }
}

bool LaunchGrid::depends_on_inner(const ValuePtr &value) const {
  bool found = false;
  visit_value(value, [&](const Value &part) {
    const auto *own = as<Variable>(part);
    found =
        found || is<Load>(part) || is<Local>(part) || (own != nullptr && inner_.contains(own->id));
  });
  return found;
}

ValuePtr LaunchGrid::blocks_along(size_t axis) const {
  return maximum(sub(end_[axis], first_[axis]), integer(0));
}

// A grid has no more than 65535 blocks along y. Where there may be more of them, and no loop is
// over z, the next ones are those that follow along z: one plane for all but very tall grids.
bool LaunchGrid::continues_along_z() const {
  if (!first_[1] || first_[2]) {
    return false;
  }
  const Interval blocks = ranges_.of(blocks_along(1));
  return !blocks.upper || *blocks.upper > max_blocks_yz;
}

std::vector<ValuePtr> LaunchGrid::extents() const {
  std::vector<ValuePtr> grid;
  for (size_t axis = 0; axis < 3; ++axis) {
    grid.push_back(first_[axis] ? blocks_along(axis) : integer(1));
  }
  if (continues_along_z()) {
    const ValuePtr blocks = grid[1];
    grid[2] = floor_div(add(blocks, integer(max_blocks_yz - 1)), integer(max_blocks_yz));
    grid[1] = minimum(blocks, integer(max_blocks_yz));
  }
  return grid;
}

StmtPtr LaunchGrid::at_block(const For &loop, const StmtPtr &body) const {
  const auto axis = static_cast<size_t>(loop.axis);
  const bool is_only = loops_[axis] == 1 && first_[axis] == loop.lower && end_[axis] == loop.upper;
  const ValuePtr number = variable(loop.id, loop.name);
  ValuePtr place = gpu_index(loop.axis);
  const bool continues = axis == 1 && continues_along_z();
  if (continues) {
    place = add(place, mul(integer(max_blocks_yz), gpu_index(2)));
  }
  StmtPtr guarded = body;
  if (!is_only) {
    guarded = if_then(
        both(binary_value(Op::Ge, number, loop.lower), binary_value(Op::Lt, number, loop.upper)),
        body);
  } else if (continues) { // the last plane may not be full; a block leaves as a whole
    guarded = if_then(binary_value(Op::Lt, number, loop.upper), body);
  }
  return block({let(loop.id, loop.name, add(first_[axis], place)), guarded});
}

} // namespace tilewright
