#include "passes/unroll_loops.h"

#include "loops/summing_loops.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"

#include <set>

namespace tilewright {

namespace {

/// Code larger than this is not worth its place in the instruction cache, nor the time to compile
/// it.
constexpr std::int64_t max_statements = 4096;

std::int64_t size_of(const StmtPtr &root) {
  std::int64_t size = 0;
  visit_statements(root, [&](const LoopStatement &) { ++size; });
  return size;
}

/// Do the copies of an unrolled loop have vector or unrolled loops inside of constant extents,
/// which differ from copy to copy?
bool shapes_tiles(const For &loop) {
  std::set<std::int64_t> unrolled{loop.id};
  bool found = false;
  visit_statements(loop.body(), [&](const LoopStatement &statement) {
    const auto *inner = as<For>(statement);
    if (inner == nullptr ||
        (inner->loop != LoopKind::Vector && inner->loop != LoopKind::Unrolled)) {
      return;
    }
    if (inner->loop == LoopKind::Unrolled) {
      unrolled.insert(inner->id);
    }
    bool varies = false;
    bool known = true;
    for (const ValuePtr &bound : {inner->lower, inner->upper}) {
      visit_value(bound, [&](const Value &value) {
        const auto *variable = as<Variable>(value);
        varies = varies || is_variable(value, loop.id);
        known = known && !is<Parameter>(value) && !is<Local>(value) &&
                (variable == nullptr || unrolled.contains(variable->id));
      });
    }
    found = found || (varies && known);
  });
  return found;
}

/// The loop over rows of a tile that is not full, and has `factor` of them at the most, around the
/// loop of their sums (with_rows_outside): as tiles of half the height, and the rows that are left
/// one by one. One row alone has too few sums to keep a processor busy.
///     for r in range(0, n): for k in ...: C[r] = C[r] + A[r, k]
/// becomes, of 8 rows,
///     for t in range(0, n // 4): for k in ...: four rows
///     for r in range(n // 4 * 4, n): for k in ...: C[r] = C[r] + A[r, k]
StmtPtr in_half_tiles(const For &rows, std::int64_t factor, Numbers &numbers) {
  const For &terms = cast<For>(rows.body());
  const std::int64_t half = factor / 2;
  if (half < 2 || half * size_of(terms.body()) > max_statements) {
    return for_loop(rows, rows.lower, rows.upper, rows.body());
  }
  const std::int64_t tile = numbers.next();
  const std::int64_t first = numbers.next();
  std::vector<StmtPtr> copies;
  for (std::int64_t row = 0; row < half; ++row) {
    const ValuePtr at = add(variable(first, rows.name), integer(row));
    copies.push_back(copy_with(terms.body(), {{rows.id, at}}, numbers));
  }
  const StmtPtr sums =
      copy_with(for_loop(terms, terms.lower, terms.upper, block(std::move(copies))), {}, numbers);
  const ValuePtr start = add(rows.lower, mul(variable(tile, "tile"), integer(half)));
  const std::int64_t tiles = numbers.next();
  const ValuePtr count = variable(tiles, "tiles");
  return block(
      {let(tiles, "tiles",
           floor_div(maximum(sub(rows.upper, rows.lower), integer(0)), integer(half))),
       for_loop(tile, "tile", integer(0), count, LoopKind::Serial, 0,
                block({let(first, rows.name, start), sums})),
       for_loop(rows, add(rows.lower, mul(count, integer(half))), rows.upper, rows.body())});
}

class Unroller {
public:
  Unroller(const StmtPtr &root, bool only_shaping) : numbers_(root), only_shaping_(only_shaping) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    StmtPtr node = map_children(statement, *this);
    if (const auto *outer = as_loop(node, LoopKind::Serial)) {
      const auto *rows = as_loop(outer->body(), LoopKind::Serial);
      const StmtPtr outside =
          rows != nullptr && rows->factor > 1 ? with_rows_outside(*outer) : nullptr;
      return outside ? in_half_tiles(cast<For>(outside), rows->factor, numbers_) : node;
    }
    const auto *loop = as_loop(node, LoopKind::Unrolled);
    if (loop == nullptr || (only_shaping_ && !shapes_tiles(*loop))) {
      return node;
    }
    const auto extent = constant_extent(*loop);
    if (!extent || *extent > max_statements || *extent * size_of(loop->body()) > max_statements) {
      if (only_shaping_) {
        return node;
      }
      return for_loop(loop->id, loop->name, loop->lower, loop->upper, LoopKind::Serial,
                      loop->factor, loop->body());
    }
    std::vector<StmtPtr> copies;
    for (std::int64_t i = 0; i < *extent; ++i) {
      copies.push_back(
          copy_with(loop->body(), {{loop->id, add(loop->lower, integer(i))}}, numbers_));
    }
    return block(std::move(copies));
  }

private:
  Numbers numbers_;
  bool only_shaping_;
};

} // namespace

StmtPtr unroll_loops(const StmtPtr &body) { return Unroller(body, false)(body); }

StmtPtr unroll_tile_shapes(const StmtPtr &body) { return Unroller(body, true)(body); }

} // namespace tilewright
