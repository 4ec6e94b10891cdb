#include "passes/leave_loops.h"

#include "loops/linear.h"
#include "loops/traverse.h"
#include "passes/endless_loops.h"
#include "passes/loop_changes.h"
#include "passes/loop_memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace tilewright {

namespace {

/// The operand of `not flag`, where that is a load or a local; else null.
ValuePtr denied_flag(const ValuePtr &test) {
  const ValuePtr flag = denied(test);
  return flag && (is<Load>(flag) || is<Local>(flag)) ? flag : nullptr;
}

/// The tests around all places that set the flag of a loop which only that flag ends, as far as
/// they come out the same in all iterations: where one fails, nothing ever sets the flag.
class TestsAroundEnd {
public:
  explicit TestsAroundEnd(const For &loop) : flag_(flag_that_ends(loop)), changes_(loop) {
    if (!flag_.empty()) {
      walk(loop.body(), {}, true);
    }
  }

  /// The outermost ones first.
  std::vector<ValuePtr> tests() const { return common_.value_or(std::vector<ValuePtr>{}); }

private:
  /// `tests`: those around the statement, up to the first that may differ between iterations.
  void walk(const StmtPtr &statement, std::vector<ValuePtr> tests, bool all_same) {
    if (const auto *set = as<Store>(statement)) {
      const bool ends = set->name == flag_ || set->name.starts_with(flag_ + "_of_");
      if (ends && as_boolean(set->value).value_or(false)) {
        note(tests);
      }
    }
    const auto *test = as<If>(statement);
    if (test == nullptr) {
      for (const StmtPtr &child : statement->children) {
        walk(child, tests, all_same);
      }
      return;
    }
    if (test->has_otherwise()) {
      walk(test->otherwise(), tests, false);
    }
    for (const ValuePtr &part : conjuncts_of(test->condition)) {
      all_same = all_same && changes_.is_fixed(part);
      if (all_same) {
        tests.push_back(part);
      }
    }
    walk(test->then(), tests, all_same);
  }

  void note(const std::vector<ValuePtr> &tests) {
    if (!common_) {
      common_ = tests;
      return;
    }
    size_t same = 0;
    while (same < std::min(common_->size(), tests.size()) &&
           same_value((*common_)[same], tests[same])) {
      ++same;
    }
    common_->resize(same);
  }

  std::string flag_;
  LoopChanges changes_;
  std::optional<std::vector<ValuePtr>> common_;
};

/// One loop that may be left early.
class LeftLoop {
public:
  LeftLoop(const For &loop, LoopMemory memory) : loop_(loop), memory_(std::move(memory)) {
    inside_.insert(loop.id);
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      if (const std::int64_t *variable = defined_variable(inner)) {
        inside_.insert(*variable);
      }
      if (const auto *declared = as<DeclareLocal>(inner)) {
        inside_.insert(declared->id);
        values_[declared->id] = declared->value;
      }
      if (const auto *memory = as<Allocate>(inner)) {
        scoped_.insert(memory->buffer);
      }
    });
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      if (const auto *assigned = as<AssignLocal>(inner)) {
        values_.erase(assigned->id);
      }
    });
  }

  /// Flags of which each says that the rest of the iterations do nothing.
  struct Flags {
    std::vector<ValuePtr> asked_before; ///< each iteration
    std::vector<ValuePtr> asked_behind; ///< each: the first one runs whether they hold or not
    /// Where this fails, nothing sets a flag, and the first iteration has done all. Null: none.
    ValuePtr ends;
  };

  Flags flags() const {
    Flags found;
    for (const ValuePtr &candidate : candidates(loop_.body())) {
      if (!is_fixed(candidate) || !is_only_set(candidate)) {
        continue;
      }
      if ((is_endless(candidate) && depends_on(candidate)) ||
          is_idle(loop_.body(), {candidate, false})) {
        found.asked_before.push_back(candidate);
      } else if (is_idle(loop_.body(), {candidate, true})) {
        found.asked_behind.push_back(candidate);
      }
    }
    for (const ValuePtr &test : TestsAroundEnd(loop_).tests()) {
      if (!is_idle(loop_.body(), {nullptr, true, test})) {
        break; // those inside of it may have no meaning where it fails
      }
      found.ends = found.ends ? both(found.ends, test) : test;
    }
    return found;
  }

private:
  /// What is known of an iteration: a flag holds when it begins, or a test fails.
  struct Idle {
    ValuePtr flag;
    bool is_later; ///< another one was before it
    ValuePtr failing = nullptr;
  };

  /// The flags that tests in an iteration deny.
  static std::vector<ValuePtr> candidates(const StmtPtr &body) {
    std::vector<ValuePtr> found;
    visit_statements(body, [&](const LoopStatement &statement) {
      if (const auto *test = as<If>(statement)) {
        for (const ValuePtr &part : conjuncts_of(test->condition)) {
          const ValuePtr flag = denied_flag(part);
          if (flag && std::none_of(found.begin(), found.end(), [&](const ValuePtr &known) {
                return same_value(known, flag);
              })) {
            found.push_back(flag);
          }
        }
      }
    });
    return found;
  }

  /// Whether it is a loop that only this flag ends. That what depends on the flag there is asked
  /// for by nobody behind the last iteration is how the front end made it
  /// (python/tilewright/frontends/whiles.py).
  bool is_endless(const ValuePtr &flag) const {
    const auto *element = as<Load>(flag);
    const std::string own = flag_that_ends(loop_);
    if (element == nullptr || own.empty()) {
      return false;
    }
    return element->name == own || element->name.starts_with(own + "_of_"); // one for each thread
  }

  /// Whether all that an iteration leaves behind depends on the flag: a statement that a schedule
  /// has put into the loop does not, and has to run in all iterations.
  bool depends_on(const ValuePtr &flag) const {
    Dependents found;
    if (const auto *element = as<Load>(flag)) {
      found.buffers.insert(element->buffer);
    } else {
      found.locals.insert(cast<Local>(flag).id);
    }
    size_t before = 0;
    do {
      before = found.buffers.size() + found.locals.size();
      note_dependents(loop_.body(), false, found);
    } while (found.buffers.size() + found.locals.size() > before);
    return all_depend(loop_.body(), false, found);
  }

  /// Conditions and locals that depend on a flag, and the flag.
  struct Dependents {
    std::set<std::int64_t> buffers;
    std::set<std::int64_t> locals;

    bool are_in(const ValuePtr &root) const {
      bool any = false;
      visit_value(root, [&](const Value &value) {
        const auto *read = as<Load>(value);
        const auto *own = as<Local>(value);
        any = any || (read != nullptr && buffers.contains(read->buffer)) ||
              (own != nullptr && locals.contains(own->id));
      });
      return any;
    }
  };

  void note_dependents(const StmtPtr &statement, bool guarded, Dependents &found) const {
    const auto *test = as<If>(statement);
    const bool inside = guarded || (test != nullptr && found.are_in(test->condition));
    if (const auto *set = as<Store>(statement)) {
      if (set->value->type.scalar == Bool && (inside || found.are_in(set->value))) {
        found.buffers.insert(set->buffer);
      }
    } else if (const auto *assigned = as<AssignLocal>(statement)) {
      if (inside || found.are_in(assigned->value)) {
        found.locals.insert(assigned->id);
      }
    } else if (const auto *declared = as<DeclareLocal>(statement)) {
      if (inside || found.are_in(declared->value)) {
        found.locals.insert(declared->id);
      }
    }
    for (const StmtPtr &child : statement->children) {
      note_dependents(child, inside, found);
    }
  }

  bool all_depend(const StmtPtr &statement, bool guarded, const Dependents &found) const {
    const auto *test = as<If>(statement);
    const bool inside = guarded || (test != nullptr && found.are_in(test->condition));
    if (const auto *change = as<ElementChange>(*statement)) {
      // Scalars of the kernel are those of the program: set anew before they are read. What
      // nothing behind the loop reads, such as their elements for an inner loop, goes with it.
      const auto *set = as<Store>(statement);
      return inside || found.are_in(change->value) ||
             (set != nullptr && set->mask && found.are_in(set->mask)) ||
             memory_.scalars.contains(change->buffer) || memory_.own.contains(change->buffer);
    }
    return std::all_of(statement->children.begin(), statement->children.end(),
                       [&](const StmtPtr &child) { return all_depend(child, inside, found); });
  }

  /// Whether it is the same place in all iterations.
  bool is_fixed(const ValuePtr &flag) const {
    if (const auto *own = as<Local>(flag)) {
      return !inside_.contains(own->id);
    }
    if (scoped_.contains(cast<Load>(flag).buffer)) {
      return false;
    }
    bool fixed = true;
    for (const ValuePtr &subscript : cast<Load>(flag).subscripts()) {
      visit_value(subscript, [&](const Value &value) {
        const auto *own = as<Variable>(value);
        fixed = fixed && !is<Load>(value) && !is<Local>(value) &&
                (own == nullptr || !inside_.contains(own->id));
      });
    }
    return fixed;
  }

  /// Whether the statement does nothing where the flag holds.
  bool is_idle(const StmtPtr &statement, const Idle &idle) const {
    if (const auto *set = as<Store>(statement)) {
      return memory_.temporaries.contains(set->buffer) ||
             (!set->mask && keeps(*set, set->value, idle, {}));
    }
    if (const auto *assigned = as<AssignLocal>(statement)) {
      return inside_.contains(assigned->id);
    }
    if (const auto *test = as<If>(statement)) {
      const std::vector<ValuePtr> parts = conjuncts_of(test->condition);
      return (is_false(parts, idle) || is_idle(test->then(), idle)) &&
             (!test->has_otherwise() || is_idle(test->otherwise(), idle));
    }
    if (is<Let>(statement) || is<DeclareLocal>(statement) || is<CheckIndex>(statement)) {
      return true;
    }
    const bool holds_others = is<Block>(statement) || is<Allocate>(statement) ||
                              is<Timed>(statement) || is<For>(statement) || is<While>(statement);
    return holds_others && std::all_of(statement->children.begin(), statement->children.end(),
                                       [&](const StmtPtr &child) { return is_idle(child, idle); });
  }

  /// Whether the value that is stored is what is there, where the flag holds: a choice of loads
  /// of the element, each under the equations of indices that its conditions say.
  bool keeps(const Store &set, const ValuePtr &value, const Idle &idle,
             std::vector<Linear> equations) const {
    if (const auto *choice = as<Select>(value)) {
      const std::vector<ValuePtr> parts = conjuncts_of(choice->condition());
      if (idle.is_later && parts.size() == 1 && is_later_than_first(parts.front())) {
        return keeps(set, choice->then(), idle, std::move(equations));
      }
      if (!keeps(set, choice->otherwise(), idle, equations)) {
        return false;
      }
      if (is_false(parts, idle)) {
        return true;
      }
      for (const ValuePtr &part : parts) {
        const auto *equal = as_binary(part, Op::Eq);
        if (equal == nullptr || !is_index(equal->left()) || !is_index(equal->right())) {
          continue;
        }
        const auto left = linear_of(equal->left());
        const auto right = linear_of(equal->right());
        if (const auto zero = left && right ? combine(*left, *right, -1) : std::nullopt) {
          equations.push_back(*zero);
        }
      }
      return keeps(set, choice->then(), idle, std::move(equations));
    }
    if (const auto *own = as<Local>(value)) {
      const auto known = values_.find(own->id);
      return known != values_.end() && keeps(set, known->second, idle, std::move(equations));
    }
    const auto *read = as<Load>(value);
    if (read == nullptr || read->buffer != set.buffer ||
        read->subscripts().size() != set.subscripts.size()) {
      return false;
    }
    for (size_t d = 0; d < set.subscripts.size(); ++d) {
      if (!same_value(read->subscripts()[d], set.subscripts[d]) &&
          !is_same(read->subscripts()[d], set.subscripts[d], equations)) {
        return false;
      }
    }
    return true;
  }

  /// Whether one of the conjuncts denies the flag, is the test that fails, or asks for the
  /// first iteration.
  bool is_false(const std::vector<ValuePtr> &conjuncts, const Idle &idle) const {
    return std::any_of(conjuncts.begin(), conjuncts.end(), [&](const ValuePtr &part) {
      const ValuePtr flag = denied_flag(part);
      const auto *equal = as_binary(part, Op::Eq);
      const auto *own = equal == nullptr ? nullptr : as<Variable>(equal->left());
      return (flag && idle.flag && same_value(flag, idle.flag)) ||
             (idle.failing && same_value(part, idle.failing)) ||
             (idle.is_later && own != nullptr && own->id == loop_.id &&
              same_value(equal->right(), loop_.lower));
    });
  }

  /// turn >= 1, in a loop from 0 on.
  bool is_later_than_first(const ValuePtr &test) const {
    const auto *compared = as_binary(test, Op::Ge);
    const auto *own = compared == nullptr ? nullptr : as<Variable>(compared->left());
    const auto first = as_integer(loop_.lower);
    return own != nullptr && own->id == loop_.id && first &&
           as_integer(compared->right()) == *first + 1;
  }

  /// Whether two subscripts differ by one of what is 0.
  static bool is_same(const ValuePtr &a, const ValuePtr &b, const std::vector<Linear> &equations) {
    if (!is_index(a) || !is_index(b)) {
      return false;
    }
    const auto first = linear_of(a);
    const auto second = linear_of(b);
    const auto distance = first && second ? combine(*first, *second, -1) : std::nullopt;
    const auto is_zero = [](const std::optional<Linear> &sum) {
      return sum && sum->is_constant() && sum->constant == 0;
    };
    return distance && (is_zero(distance) ||
                        std::any_of(equations.begin(), equations.end(), [&](const Linear &zero) {
                          return is_zero(combine(*distance, zero, -1)) ||
                                 is_zero(combine(*distance, zero, 1));
                        }));
  }

  /// Whether an iteration that changes the flag leaves it true.
  bool is_only_set(const ValuePtr &flag) const {
    bool only = true;
    const auto *element = as<Load>(flag);
    const auto *own = as<Local>(flag);
    visit_statements(loop_.body(), [&](const LoopStatement &inner) {
      if (const auto *change = as<ElementChange>(inner)) {
        if (element != nullptr && change->buffer == element->buffer) {
          const bool same = change->subscripts.size() == element->subscripts().size() &&
                            std::equal(change->subscripts.begin(), change->subscripts.end(),
                                       element->subscripts().begin(), same_value);
          only = only && same && is<Store>(inner) && as_boolean(change->value).value_or(false);
        }
      } else if (const auto *assigned = as<AssignLocal>(inner)) {
        if (own != nullptr && assigned->id == own->id) {
          only = only && as_boolean(assigned->value).value_or(false);
        }
      }
    });
    return only;
  }

  const For &loop_;
  LoopMemory memory_;
  std::map<std::int64_t, ValuePtr> values_; ///< of locals that are given one value only
  std::set<std::int64_t> inside_;           ///< variables and locals that are made in an iteration
  std::set<std::int64_t> scoped_;           ///< buffers that are
};

/// Is it a loop around blocks and threads of a GPU, inside of a kernel? All of them go through it.
bool is_around_threads(const For &loop) {
  bool has_launch = false;
  bool has_threads = false;
  visit_statements(loop.body(), [&](const LoopStatement &inner) {
    const auto *other = as<For>(inner);
    has_launch = has_launch || is<Launch>(inner);
    has_threads = has_threads || is<Barrier>(inner) || (other != nullptr && is_gpu(other->loop));
  });
  return has_threads && !has_launch;
}

class Leaving {
public:
  explicit Leaving(const Kernel &kernel) : memories_(kernel), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (loop == nullptr || !loop->prefetches.empty() || is_around_threads(*loop)) {
      return map_children(statement, *this);
    }
    LeftLoop::Flags flags = LeftLoop(*loop, memories_.of(*loop)).flags();
    if (flags.asked_before.empty() && flags.asked_behind.empty()) {
      return map_children(statement, *this);
    }
    const StmtPtr body = (*this)(loop->body());
    const std::int64_t id = numbers_.next();
    const ValuePtr next = local(id, "next", {Int64, 1});
    const ValuePtr iteration = variable(loop->id, loop->name);
    ValuePtr goes_on = binary_value(Op::Lt, next, loop->upper);
    for (const ValuePtr &flag : flags.asked_before) {
      goes_on = both(goes_on, unary_value(Op::Not, flag));
    }
    std::vector<StmtPtr> before{declare_local(id, "next", loop->lower)};
    if (flags.ends) {
      const std::int64_t ends = numbers_.next();
      before.push_back(declare_local(ends, "ends", flags.ends));
      flags.asked_behind.push_back(unary_value(Op::Not, local(ends, "ends", {Bool, 1})));
    }
    std::vector<StmtPtr> turn{let(loop->id, loop->name, next), body,
                              assign_local(id, "next", add(iteration, integer(1)))};
    if (!flags.asked_behind.empty()) {
      const std::int64_t done = numbers_.next();
      ValuePtr holds = flags.asked_behind.front();
      for (size_t k = 1; k < flags.asked_behind.size(); ++k) {
        holds = binary_value(Op::Or, holds, flags.asked_behind[k]);
      }
      before.push_back(declare_local(done, "done", boolean(false)));
      turn.push_back(assign_local(done, "done", holds));
      goes_on = both(goes_on, unary_value(Op::Not, local(done, "done", {Bool, 1})));
    }
    before.push_back(while_loop(goes_on, block(std::move(turn))));
    return block(std::move(before));
  }

private:
  LoopMemories memories_;
  Numbers numbers_;
};

} // namespace

void leave_loops(Kernel &kernel) { kernel.body = Leaving(kernel)(kernel.body); }

bool runs_to_parameter(const Kernel &kernel, const std::vector<std::string> &parameters) {
  bool found = false;
  visit_statements(kernel.body, [&](const LoopStatement &statement) {
    const auto *loop = as<For>(statement);
    if (loop == nullptr) {
      return;
    }
    visit_value(loop->upper, [&](const Value &value) {
      const auto *parameter = as<Parameter>(value);
      found = found || (parameter != nullptr && std::find(parameters.begin(), parameters.end(),
                                                          parameter->name) != parameters.end());
    });
  });
  return found;
}

} // namespace tilewright
