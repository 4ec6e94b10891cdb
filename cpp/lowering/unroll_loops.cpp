#include "lowering/passes.h"

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

class Unroller {
public:
  explicit Unroller(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    std::vector<StmtPtr> children;
    for (const StmtPtr &child : statement->children) {
      children.push_back((*this)(child));
    }
    StmtPtr node = with_children(statement, std::move(children));
    if (node->kind != StatementKind::For || node->loop != LoopKind::Unrolled) {
      return node;
    }
    const StmtPtr &body = node->children[0];
    const auto extent = constant_extent(*node);
    if (!extent || *extent * size_of(body) > max_statements) {
      return for_loop(node->id, node->name, node->lower, node->upper, LoopKind::Serial, 0, body);
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
};

} // namespace

StmtPtr unroll_loops(const StmtPtr &body) { return Unroller(body)(body); }

} // namespace tilewright
