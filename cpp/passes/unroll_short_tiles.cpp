#include "passes/unroll_short_tiles.h"

#include "loops/traverse.h"

namespace tilewright {

namespace {

/// Code larger than this is not worth its place in the instruction cache.
constexpr std::int64_t max_statements = 4096;

std::int64_t count_statements(const StmtPtr &root) {
  std::int64_t count = 0;
  visit_statements(root, [&](const LoopStatement &) { ++count; });
  return count;
}

class ShortTiles {
public:
  explicit ShortTiles(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    StmtPtr node = map_children(statement, *this);
    const auto *loop = as<For>(node);
    const bool is_short =
        loop != nullptr && loop->factor > 0 &&
        (loop->loop == LoopKind::Serial ||
         (loop->loop == LoopKind::Unrolled && !as_integer(sub(loop->upper, loop->lower))));
    if (!is_short || loop->factor * count_statements(loop->body()) > max_statements) {
      return node;
    }
    std::vector<StmtPtr> copies;
    for (std::int64_t i = 0; i < loop->factor; ++i) {
      const ValuePtr value = add(loop->lower, integer(i));
      copies.push_back(if_then(binary_value(Op::Lt, value, loop->upper),
                               copy_with(loop->body(), {{loop->id, value}}, numbers_)));
    }
    return block(std::move(copies));
  }

private:
  Numbers numbers_;
};

} // namespace

StmtPtr unroll_short_tiles(const StmtPtr &body) { return ShortTiles(body)(body); }

} // namespace tilewright
