#include "loops/summing_loops.h"
#include "passes/passes.h"

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
bool shapes_tiles(const LoopStatement &loop) {
  std::set<std::int64_t> unrolled{loop.id};
  bool found = false;
  visit_statements(loop.children[0], [&](const LoopStatement &inner) {
    const bool tagged = inner.kind == StatementKind::For &&
                        (inner.loop == LoopKind::Vector || inner.loop == LoopKind::Unrolled);
    if (!tagged) {
      return;
    }
    if (inner.loop == LoopKind::Unrolled) {
      unrolled.insert(inner.id);
    }
    bool varies = false;
    bool known = true;
    for (const ValuePtr &bound : {inner.lower, inner.upper}) {
      visit_value(bound, [&](const Value &value) {
        varies = varies || (value.kind == ValueKind::Variable && value.id == loop.id);
        known = known && value.kind != ValueKind::Parameter && value.kind != ValueKind::Local &&
                (value.kind != ValueKind::Variable || unrolled.contains(value.id));
      });
    }
    found = found || (varies && known);
  });
  return found;
}

class Unroller {
public:
  Unroller(const StmtPtr &root, bool only_shaping) : numbers_(root), only_shaping_(only_shaping) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    StmtPtr node = map_children(statement, *this);
    if (node->kind == StatementKind::For && node->loop == LoopKind::Serial &&
        node->children[0]->loop == LoopKind::Serial && node->children[0]->factor > 1) {
      // One after the other, each of its rows can keep its sums in registers.
      const StmtPtr outside = with_rows_outside(*node);
      return outside ? outside : node;
    }
    if (node->kind != StatementKind::For || node->loop != LoopKind::Unrolled) {
      return node;
    }
    if (only_shaping_ && !shapes_tiles(*node)) {
      return node;
    }
    const StmtPtr &body = node->children[0];
    const auto extent = constant_extent(*node);
    if (!extent || *extent * size_of(body) > max_statements) {
      if (only_shaping_) {
        return node;
      }
      return for_loop(node->id, node->name, node->lower, node->upper, LoopKind::Serial,
                      node->factor, body);
    }
    std::vector<StmtPtr> copies;
    for (std::int64_t i = 0; i < *extent; ++i) {
      copies.push_back(copy_with(body, {{node->id, add(node->lower, integer(i))}}, numbers_));
    }
    return block(std::move(copies));
  }

private:
  static std::optional<std::int64_t> constant_extent(const LoopStatement &loop) {
    const auto lower = linear_of(loop.lower);
    const auto upper = linear_of(loop.upper);
    const auto extent = lower && upper ? combine(*upper, *lower, -1) : std::nullopt;
    if (!extent || !extent->is_constant() || extent->constant > max_statements) {
      return std::nullopt;
    }
    return extent->constant;
  }

  Numbers numbers_;
  bool only_shaping_;
};

} // namespace

namespace {

class ShortTiles {
public:
  explicit ShortTiles(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    StmtPtr node = map_children(statement, *this);
    const bool is_short =
        node->kind == StatementKind::For && node->factor > 0 &&
        (node->loop == LoopKind::Serial ||
         (node->loop == LoopKind::Unrolled && !as_integer(sub(node->upper, node->lower))));
    if (!is_short || node->factor * size_of(node->children[0]) > max_statements) {
      return node;
    }
    std::vector<StmtPtr> copies;
    for (std::int64_t i = 0; i < node->factor; ++i) {
      const ValuePtr value = add(node->lower, integer(i));
      copies.push_back(if_then(binary_value(Op::Lt, value, node->upper),
                               copy_with(node->children[0], {{node->id, value}}, numbers_)));
    }
    return block(std::move(copies));
  }

private:
  Numbers numbers_;
};

} // namespace

StmtPtr unroll_short_tiles(const StmtPtr &body) { return ShortTiles(body)(body); }

StmtPtr unroll_loops(const StmtPtr &body) { return Unroller(body, false)(body); }

StmtPtr unroll_tile_shapes(const StmtPtr &body) { return Unroller(body, true)(body); }

} // namespace tilewright
