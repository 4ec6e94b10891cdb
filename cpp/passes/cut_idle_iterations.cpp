#include "passes/cut_idle_iterations.h"

#include "loops/traverse.h"
#include "passes/loop_changes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tilewright {

namespace {

/// `variable < end` or `variable >= begin`.
struct Test {
  ValuePtr condition;
  ValuePtr bound;
  bool is_end;
};

/// `bound <= variable` as `variable >= bound`, and `bound > variable` as `variable < bound`; others
/// as they are.
ValuePtr with_variable_first(const ValuePtr &condition) {
  const auto *compared = as<Binary>(condition);
  if (compared == nullptr || (compared->op != Op::Le && compared->op != Op::Gt) ||
      as<Variable>(compared->right()) == nullptr) {
    return condition;
  }
  return binary_value(compared->op == Op::Le ? Op::Ge : Op::Lt, compared->right(),
                      compared->left());
}

/// Does an iteration in which a test does not hold do anything that others see?
class IdleIteration {
public:
  explicit IdleIteration(const Test &test) : test_(test) {}

  bool does_nothing(const StmtPtr &statement) {
    if (const auto *declared = as<DeclareLocal>(statement)) {
      own_.insert(declared->id);
      note(*declared);
      return true;
    }
    if (const auto *assigned = as<AssignLocal>(statement)) {
      note(*assigned);
      return own_.contains(assigned->id);
    }
    if (const auto *test = as<If>(statement)) {
      return branch_does_nothing(*test);
    }
    if (const auto *loop = as<While>(statement)) {
      return holds(loop->condition) == false;
    }
    const bool is_loop = is<For>(statement);
    if (!is_loop && !is<Block>(statement) && !is<Let>(statement) && !is<Allocate>(statement)) {
      return false;
    }
    if (is_loop) { // what another iteration leaves is not known
      forget_assigned(statement);
    }
    const bool idle = std::all_of(statement->children.begin(), statement->children.end(),
                                  [&](const StmtPtr &child) { return does_nothing(child); });
    if (is_loop) { // it may have none
      forget_assigned(statement);
    }
    return idle;
  }

private:
  bool branch_does_nothing(const If &test) {
    const std::optional<bool> known = holds(test.condition);
    if (known) {
      const StmtPtr taken = *known                 ? test.then()
                            : test.has_otherwise() ? test.otherwise()
                                                   : nullptr;
      return taken == nullptr || does_nothing(taken);
    }
    const auto before = known_;
    const bool then_idle = does_nothing(test.then());
    known_ = before;
    const bool idle = then_idle && (!test.has_otherwise() || does_nothing(test.otherwise()));
    known_ = before;
    forget_assigned(test.then());
    if (test.has_otherwise()) {
      forget_assigned(test.otherwise());
    }
    return idle;
  }

  void note(const Definition &definition) {
    const auto value =
        definition.value->type == ValueType{Bool, 1} ? holds(definition.value) : std::nullopt;
    if (value) {
      known_[definition.id] = *value;
    } else {
      known_.erase(definition.id);
    }
  }

  void forget_assigned(const StmtPtr &root) {
    visit_statements(root, [&](const LoopStatement &inner) {
      if (const auto *assigned = as<AssignLocal>(inner)) {
        known_.erase(assigned->id);
      }
    });
  }

  /// What a condition is, if that is known.
  std::optional<bool> holds(const ValuePtr &condition) const {
    if (same_value(with_variable_first(condition), test_.condition)) {
      return false;
    }
    if (const auto constant = as_boolean(condition)) {
      return constant;
    }
    if (const auto *own = as<Local>(condition)) {
      const auto found = known_.find(own->id);
      return found == known_.end() ? std::nullopt : std::optional(found->second);
    }
    const auto *unary = as<Unary>(condition);
    if (unary != nullptr && unary->op == Op::Not) {
      const auto inner = holds(unary->operand());
      return inner ? std::optional(!*inner) : std::nullopt;
    }
    if (const auto *choice = as<Select>(condition)) {
      const auto chosen = holds(choice->condition());
      if (chosen) {
        return holds(*chosen ? choice->then() : choice->otherwise());
      }
      const auto then = holds(choice->then());
      return then && then == holds(choice->otherwise()) ? then : std::nullopt;
    }
    for (const bool deciding : {false, true}) {
      if (const auto *two = as_binary(condition, deciding ? Op::Or : Op::And)) {
        const auto left = holds(two->left());
        const auto right = holds(two->right());
        if (left == deciding || right == deciding) {
          return deciding;
        }
        return left && right ? std::optional(!deciding) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  const Test &test_;
  std::set<std::int64_t> own_; ///< locals of the iteration
  std::map<std::int64_t, bool> known_;
};

/// The tests of a loop's variable that may bound it.
class Tests {
public:
  explicit Tests(const For &loop) : loop_(loop), changes_(loop) {
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      visit_values(inner, [&](const Value &value) {
        const auto *compared = as<Binary>(value);
        if (compared != nullptr) {
          note(*compared);
        }
      });
    });
  }

  const std::vector<Test> &all() const { return tests_; }

private:
  void note(const Binary &compared) {
    const bool is_end = compared.op == Op::Lt || compared.op == Op::Gt;
    if (!is_end && compared.op != Op::Ge && compared.op != Op::Le) {
      return;
    }
    const bool is_first = compared.op == Op::Lt || compared.op == Op::Ge;
    const ValuePtr &variable = is_first ? compared.left() : compared.right();
    const ValuePtr &bound = is_first ? compared.right() : compared.left();
    const auto *own = as<Variable>(variable);
    if (own == nullptr || own->id != loop_.id || !is_int64(bound) || !is_fixed(bound)) {
      return;
    }
    const ValuePtr condition = binary_value(is_end ? Op::Lt : Op::Ge, variable, bound);
    if (std::none_of(tests_.begin(), tests_.end(),
                     [&](const Test &known) { return same_value(known.condition, condition); })) {
      tests_.push_back({condition, bound, is_end});
    }
  }

  /// Nothing is loaded, since the loop might have no iteration in which it was.
  bool is_fixed(const ValuePtr &bound) const {
    bool loads = false;
    visit_value(bound, [&](const Value &value) { loads = loads || is<Load>(value); });
    return !loads && changes_.is_fixed(bound);
  }

  const For &loop_;
  LoopChanges changes_;
  std::vector<Test> tests_;
};

StmtPtr cut(const StmtPtr &statement) {
  const auto *loop = as_loop(statement, LoopKind::Serial);
  if (loop == nullptr) {
    return map_children(statement, cut);
  }
  ValuePtr lower = loop->lower;
  ValuePtr upper = loop->upper;
  const Tests tests(*loop);
  for (const Test &test : tests.all()) {
    if (IdleIteration(test).does_nothing(loop->body())) {
      (test.is_end ? upper : lower) =
          test.is_end ? minimum(upper, test.bound) : maximum(lower, test.bound);
    }
  }
  return for_loop(*loop, lower, upper, cut(loop->body()));
}

} // namespace

StmtPtr cut_idle_iterations(const StmtPtr &body) { return cut(body); }

} // namespace tilewright
