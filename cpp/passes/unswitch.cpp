#include "passes/unswitch.h"

#include "loops/index_tests.h"
#include "loops/traverse.h"

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
    const auto *loop = as<For>(statement);
    if (loop != nullptr && loop->loop != LoopKind::Parallel && is_innermost(*loop)) {
      return at_loop(statement);
    }
    return map_children(statement, *this);
  }

private:
  StmtPtr at_loop(const StmtPtr &loop) {
    const StmtPtr &body = cast<For>(loop).body();
    std::set<std::int64_t> inside;
    visit_statements(loop, [&](const LoopStatement &inner) {
      if (const std::int64_t *variable = defined_variable(inner)) {
        inside.insert(*variable);
      }
    });
    const ValuePtr test = invariant_test(body, inside);
    if (!test) {
      return loop;
    }
    IndexFacts holds;
    holds.add(test, true);
    IndexFacts fails;
    fails.add(test, false);
    const StmtPtr then = holds.apply(body);
    const StmtPtr otherwise = fails.apply(body);
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
      if (const auto *test = as<If>(statement); test != nullptr && !found) {
        found = invariant_part(test->condition, inside);
      }
    });
    return found;
  }

  static ValuePtr invariant_part(const ValuePtr &test, const std::set<std::int64_t> &inside) {
    if (const auto *unary = as<Unary>(test); unary != nullptr && unary->op == Op::Not) {
      return invariant_part(unary->operand(), inside);
    }
    if (const auto *binary = as<Binary>(test);
        binary != nullptr && (binary->op == Op::And || binary->op == Op::Or)) {
      const ValuePtr left = invariant_part(binary->left(), inside);
      return left ? left : invariant_part(binary->right(), inside);
    }
    if (!index_test(test)) {
      return nullptr;
    }
    bool varies = false;
    visit_value(test, [&](const Value &value) {
      const auto *variable = as<Variable>(value);
      varies = varies || (variable != nullptr && inside.contains(variable->id));
    });
    return varies ? nullptr : test;
  }

  Numbers numbers_;
  std::int64_t added_ = 0;
};

} // namespace

StmtPtr unswitch(const StmtPtr &body) { return Unswitching(body)(body); }

} // namespace tilewright
