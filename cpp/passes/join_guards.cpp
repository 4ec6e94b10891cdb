#include "passes/join_guards.h"

#include "loops/build.h"
#include "loops/index_tests.h"
#include "loops/traverse.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace tilewright {

namespace {

using Conjuncts = std::vector<ValuePtr>;

/// Tests without another branch, one directly inside of the other, and what stands in all of them.
struct Tests {
  std::vector<Conjuncts> levels;
  StmtPtr body;
};

Tests tests_of(const StmtPtr &statement) {
  Tests result{{}, statement};
  const auto *test = as<If>(statement);
  while (test != nullptr && !test->has_otherwise()) {
    operands_of(Op::And, test->condition, result.levels.emplace_back());
    result.body = StmtPtr(test->then());
    test = as<If>(result.body);
  }
  return result;
}

/// Do two tests ask the same? a <= b is b >= a.
bool is_same_test(const ValuePtr &a, const ValuePtr &b) {
  if (same_value(a, b)) {
    return true;
  }
  const auto *one = as<Binary>(a);
  const auto *other = as<Binary>(b);
  return one != nullptr && other != nullptr && is_comparison(one->op) &&
         mirrored(one->op) == other->op && same_value(one->left(), other->right()) &&
         same_value(one->right(), other->left());
}

bool asks(const Tests &tests, const ValuePtr &wanted) {
  return std::any_of(tests.levels.begin(), tests.levels.end(), [&](const Conjuncts &level) {
    return std::any_of(level.begin(), level.end(),
                       [&](const ValuePtr &test) { return is_same_test(test, wanted); });
  });
}

/// What statements change that a test may read.
class Changes {
public:
  /// False where it is not known, or threads may have to wait for each other.
  bool add(const StmtPtr &root) {
    bool known = true;
    visit_statements(root, [&](const LoopStatement &statement) {
      if (const auto *assignment = as<AssignLocal>(statement)) {
        locals_.insert(assignment->id);
      } else if (const auto *change = as<ElementChange>(statement)) {
        buffers_.insert(change->buffer);
      } else if (const auto *loop = as<For>(statement)) {
        known = known && !is_gpu(loop->loop);
      }
      known = known && is_plain(statement.kind);
    });
    return known;
  }

  bool leave(const ValuePtr &test) const {
    bool same = true;
    visit_value(test, [&](const Value &value) {
      if (const auto *local = as<Local>(value)) {
        same = same && !locals_.contains(local->id);
      } else if (const auto *load = as<Load>(value)) {
        same = same && !buffers_.contains(load->buffer);
      }
    });
    return same;
  }

private:
  static bool is_plain(StatementKind kind) {
    switch (kind) {
    case StatementKind::Block:
    case StatementKind::For:
    case StatementKind::While:
    case StatementKind::If:
    case StatementKind::Store:
    case StatementKind::AtomicUpdate:
    case StatementKind::Let:
    case StatementKind::DeclareLocal:
    case StatementKind::AssignLocal:
    case StatementKind::Allocate:
    case StatementKind::CheckIndex:
    case StatementKind::CheckValue:
      return true;
    default:
      return false;
    }
  }

  std::set<std::int64_t> locals_;
  std::set<std::int64_t> buffers_;
};

/// What is left of `tests` where `known` holds.
StmtPtr without(const Tests &tests, const Conjuncts &known) {
  StmtPtr result = tests.body;
  for (auto level = tests.levels.rbegin(); level != tests.levels.rend(); ++level) {
    ValuePtr rest = boolean(true);
    for (const ValuePtr &test : *level) {
      const bool holds = std::any_of(known.begin(), known.end(), [&](const ValuePtr &other) {
        return is_same_test(test, other);
      });
      rest = holds ? rest : both(rest, test);
    }
    result = if_then(rest, result);
  }
  return result;
}

/// Can it be computed wherever nothing is known? An element may not be there.
bool reads_scalars_only(const ValuePtr &test) {
  bool only = true;
  visit_value(test, [&](const Value &value) {
    const auto *load = as<Load>(value);
    only = only && (load == nullptr || load->subscripts().empty());
  });
  return only;
}

/// Of tests that are asked in this order, those that another child asks as well, of what did not
/// change: nothing is evaluated that was not before.
Conjuncts common(const Conjuncts &tests, const Tests &child, const Changes &changes) {
  Conjuncts kept;
  for (const ValuePtr &test : tests) {
    const bool is_first = kept.size() == static_cast<size_t>(&test - tests.data());
    if (asks(child, test) && changes.leave(test) && (is_first || reads_scalars_only(test))) {
      kept.push_back(test);
    }
  }
  return kept;
}

/// The children from a first one on which stand under the same tests.
struct Run {
  size_t children = 1;
  Conjuncts tests; ///< of those that the first child asks first
};

Run run_from(const std::vector<Tests> &children, const std::vector<StmtPtr> &statements,
             size_t first) {
  Run run;
  if (children[first].levels.empty()) {
    return run;
  }
  run.tests = children[first].levels.front();
  Changes changes;
  bool known = changes.add(statements[first]);
  for (size_t next = first + 1; known && next < children.size(); ++next) {
    const Conjuncts kept = common(run.tests, children[next], changes);
    const bool reads_data = std::any_of(kept.begin(), kept.end(),
                                        [](const ValuePtr &test) { return !is_index_test(test); });
    known = reads_data && changes.add(statements[next]);
    if (known) {
      run.tests = kept;
      run.children = next - first + 1;
    }
  }
  return run;
}

} // namespace

StmtPtr join_guards(const StmtPtr &statement) {
  if (!is<Block>(statement)) {
    return statement;
  }
  const std::vector<StmtPtr> &children = statement->children;
  std::vector<Tests> tests;
  std::transform(children.begin(), children.end(), std::back_inserter(tests), tests_of);
  std::vector<StmtPtr> joined;
  for (size_t first = 0; first < children.size();) {
    const Run run = run_from(tests, children, first);
    if (run.children == 1) {
      joined.push_back(children[first++]);
      continue;
    }
    ValuePtr common = boolean(true);
    for (const ValuePtr &test : run.tests) {
      common = both(common, test);
    }
    std::vector<StmtPtr> inside;
    for (size_t child = first; child < first + run.children; ++child) {
      inside.push_back(without(tests[child], run.tests));
    }
    joined.push_back(if_then(common, join_guards(block(std::move(inside)))));
    first += run.children;
  }
  return joined.size() == children.size() ? statement : block(std::move(joined));
}

} // namespace tilewright
