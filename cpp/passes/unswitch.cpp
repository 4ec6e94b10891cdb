#include "loops/index_tests.h"
#include "passes/passes.h"

#include <set>

namespace tilewright {

namespace {

/// Statements that all copies together may add.
constexpr std::int64_t max_added = 1500;
/// A body that is large makes up for its tests.
constexpr std::int64_t largest_body = 300;

class Unswitching {
public:
  explicit Unswitching(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->kind == StatementKind::For && statement->loop != LoopKind::Parallel &&
        is_innermost(*statement)) {
      return at_loop(statement);
    }
    return map_children(statement, *this);
  }

private:
  StmtPtr at_loop(const StmtPtr &loop) {
    std::set<std::int64_t> inside = {loop->id};
    visit_statements(loop->children[0], [&](const LoopStatement &inner) {
      if (inner.kind == StatementKind::For || inner.kind == StatementKind::Let) {
        inside.insert(inner.id);
      }
    });
    const ValuePtr test = invariant_test(loop->children[0], inside);
    if (!test) {
      return loop;
    }
    IndexFacts holds;
    holds.add(test, true);
    IndexFacts fails;
    fails.add(test, false);
    const StmtPtr then = holds.apply(loop->children[0]);
    const StmtPtr otherwise = fails.apply(loop->children[0]);
    if (!is_empty(then) && !is_empty(otherwise)) {
      const std::int64_t added = std::min(size_of(then), size_of(otherwise)) + 1;
      if (size_of(loop) > largest_body || added_ + added > max_added) {
        return loop;
      }
      added_ += added;
    }
    if (is_empty(otherwise)) {
      return if_then(test, around(loop, then));
    }
    const StmtPtr copy = copy_with(with_children(loop, {otherwise}), {}, numbers_);
    return if_then(test, around(loop, then), at_loop(copy));
  }

  /// The loop with another body.
  StmtPtr around(const StmtPtr &loop, const StmtPtr &body) {
    return is_empty(body) ? body : at_loop(with_children(loop, {body}));
  }

  /// A test in `root` that is the same in all iterations; null where there is none.
  static ValuePtr invariant_test(const StmtPtr &root, const std::set<std::int64_t> &inside) {
    ValuePtr found;
    visit_statements(root, [&](const LoopStatement &statement) {
      if (statement.kind == StatementKind::If && !found) {
        found = invariant_part(statement.value, inside);
      }
    });
    return found;
  }

  static ValuePtr invariant_part(const ValuePtr &test, const std::set<std::int64_t> &inside) {
    if (test->kind == ValueKind::Unary && test->op == Op::Not) {
      return invariant_part(test->operands[0], inside);
    }
    if (test->kind == ValueKind::Binary && (test->op == Op::And || test->op == Op::Or)) {
      const ValuePtr left = invariant_part(test->operands[0], inside);
      return left ? left : invariant_part(test->operands[1], inside);
    }
    if (!index_test(test)) {
      return nullptr;
    }
    bool varies = false;
    visit_value(test, [&](const Value &value) {
      varies = varies || (value.kind == ValueKind::Variable && inside.contains(value.id));
    });
    return varies ? nullptr : test;
  }

  Numbers numbers_;
  std::int64_t added_ = 0;
};

} // namespace

StmtPtr unswitch(const StmtPtr &body) { return Unswitching(body)(body); }

} // namespace tilewright
