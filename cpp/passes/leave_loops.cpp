#include "passes/leave_loops.h"

#include "loops/linear.h"
#include "loops/traverse.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace tilewright {

namespace {

// Names of what ends by data alone: the loop over turn_X ends where left_X holds.
const std::string turns = "turn_";
const std::string left = "left_";

/// The operand of `not flag`, where that is a load or a local; else null.
ValuePtr denied_flag(const ValuePtr &test) {
  const auto *unary = as<Unary>(test);
  if (unary == nullptr || unary->op != Op::Not) {
    return nullptr;
  }
  const ValuePtr &flag = unary->operand();
  return is<Load>(flag) || is<Local>(flag) ? flag : nullptr;
}

std::vector<ValuePtr> conjuncts_of(const ValuePtr &test) {
  std::vector<ValuePtr> found;
  operands_of(Op::And, test, found);
  return found;
}

/// How often each buffer is read in a statement and what is in it.
std::map<std::int64_t, int> reads_in(const StmtPtr &root) {
  std::map<std::int64_t, int> found;
  visit_statements(root, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) {
      if (const auto *read = as<Load>(value)) {
        ++found[read->buffer];
      }
    });
  });
  return found;
}

/// One loop that may be left early.
class LeftLoop {
public:
  /// `reads`: how often each buffer is read in the whole kernel.
  LeftLoop(const For &loop, const Kernel &kernel, const std::map<std::int64_t, int> &reads)
      : loop_(loop) {
    note_temporaries(kernel, reads);
    note_own(kernel, reads);
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

  /// Those of which each says that the rest of the iterations do nothing.
  std::vector<ValuePtr> flags() const {
    std::vector<ValuePtr> found;
    for (const ValuePtr &candidate : candidates(loop_.body())) {
      if (is_fixed(candidate) && is_only_set(candidate) &&
          is_idle(loop_.body(), candidate, is_endless(candidate))) {
        found.push_back(candidate);
      }
    }
    return found;
  }

private:
  /// Temporary buffers that nothing outside of the loop reads.
  void note_own(const Kernel &kernel, const std::map<std::int64_t, int> &reads) {
    const std::map<std::int64_t, int> inside = reads_in(loop_.body());
    visit_statements(loop_.body(), [&](const LoopStatement &inner) {
      const auto *set = as<Store>(inner);
      if (set == nullptr || kernel.buffers.at(static_cast<size_t>(set->buffer)).is_argument) {
        return;
      }
      const auto here = inside.find(set->buffer);
      const auto all = reads.find(set->buffer);
      if ((here == inside.end() ? 0 : here->second) == (all == reads.end() ? 0 : all->second)) {
        own_.insert(set->buffer);
      }
    });
  }

  /// Scalars that each iteration sets before it reads them, and nothing else reads.
  void note_temporaries(const Kernel &kernel, const std::map<std::int64_t, int> &reads) {
    const auto *sequence = as<Block>(loop_.body());
    if (sequence == nullptr) {
      return;
    }
    const std::map<std::int64_t, int> inside = reads_in(loop_.body());
    std::map<std::int64_t, int> before;
    for (const StmtPtr &child : sequence->children) {
      for (const auto &[buffer, count] : reads_in(child)) {
        before[buffer] += count;
      }
      const auto *set = as<Store>(child);
      if (set == nullptr || !set->subscripts.empty() || set->mask || before.contains(set->buffer)) {
        continue;
      }
      const auto here = inside.find(set->buffer);
      const auto all = reads.find(set->buffer);
      const bool is_alone =
          (here == inside.end() ? 0 : here->second) == (all == reads.end() ? 0 : all->second);
      if (is_alone && !kernel.buffers.at(static_cast<size_t>(set->buffer)).is_argument) {
        temporaries_.insert(set->buffer);
      }
    }
  }

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

  /// Whether it is a loop that only this flag ends, as the front end makes them
  /// (python/tilewright/frontends/whiles.py): nobody asks for what a choice by the flag gives
  /// behind the last iteration, and what only the loop reads is not needed there.
  bool is_endless(const ValuePtr &flag) const {
    const auto *bound = as<Parameter>(loop_.upper);
    const auto *element = as<Load>(flag);
    if (bound == nullptr || !bound->name.starts_with("while_limit") || element == nullptr ||
        !loop_.name.starts_with(turns)) {
      return false;
    }
    const std::string own = left + loop_.name.substr(turns.size());
    return element->name == own || element->name.starts_with(own + "_of_"); // one for each thread
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

  /// Whether the statement does nothing where the flag holds; of an endless loop, nothing that
  /// somebody asks for.
  bool is_idle(const StmtPtr &statement, const ValuePtr &flag, bool endless) const {
    if (const auto *set = as<Store>(statement)) {
      return temporaries_.contains(set->buffer) ||
             (endless && (own_.contains(set->buffer) || is_choice_by(set->value, flag))) ||
             (!set->mask && keeps(*set, set->value, flag, {}));
    }
    if (const auto *assigned = as<AssignLocal>(statement)) {
      return inside_.contains(assigned->id);
    }
    if (const auto *test = as<If>(statement)) {
      const bool denies = has_denial(test->condition, flag);
      return (denies || is_idle(test->then(), flag, endless)) &&
             (!test->has_otherwise() || is_idle(test->otherwise(), flag, endless));
    }
    if (is<Let>(statement) || is<DeclareLocal>(statement) || is<CheckIndex>(statement)) {
      return true;
    }
    const bool holds_others = is<Block>(statement) || is<Allocate>(statement) ||
                              is<Timed>(statement) || is<For>(statement) || is<While>(statement);
    return holds_others &&
           std::all_of(statement->children.begin(), statement->children.end(),
                       [&](const StmtPtr &child) { return is_idle(child, flag, endless); });
  }

  /// Whether the condition fails where the flag holds.
  static bool has_denial(const ValuePtr &condition, const ValuePtr &flag) {
    const std::vector<ValuePtr> parts = conjuncts_of(condition);
    return std::any_of(parts.begin(), parts.end(), [&](const auto &part) {
      const ValuePtr denied = denied_flag(part);
      return denied && same_value(denied, flag);
    });
  }

  /// Whether the flag alone chooses between a value and another one, for where it holds.
  bool is_choice_by(const ValuePtr &value, const ValuePtr &flag) const {
    if (const auto *own = as<Local>(value)) {
      const auto known = values_.find(own->id);
      return known != values_.end() ? is_choice_by(known->second, flag)
                                    : is_assigned_by(own->id, flag);
    }
    const auto *choice = as<Select>(value);
    return choice != nullptr && has_denial(choice->condition(), flag);
  }

  /// Whether tests of the flag hold all assignments of a local: a choice that has become
  /// statements.
  bool is_assigned_by(std::int64_t id, const ValuePtr &flag) const {
    const auto assignments = [id](const LoopStatement &root) {
      std::set<const LoopStatement *> found;
      for (const StmtPtr &child : root.children) {
        visit_statements(child, [&](const LoopStatement &inner) {
          const auto *assigned = as<AssignLocal>(inner);
          if (assigned != nullptr && assigned->id == id) {
            found.insert(&inner);
          }
        });
      }
      return found;
    };
    std::set<const LoopStatement *> chosen;
    visit_statements(loop_.body(), [&](const LoopStatement &inner) {
      const auto *test = as<If>(inner);
      if (test != nullptr && has_denial(test->condition, flag)) {
        chosen.merge(assignments(inner));
      }
    });
    return !chosen.empty() && chosen == assignments(loop_);
  }

  /// Whether the value that is stored is what is there, where the flag holds: a choice of loads of
  /// the element, each under the equations of indices that its conditions say.
  bool keeps(const Store &set, const ValuePtr &value, const ValuePtr &flag,
             std::vector<Linear> equations) const {
    if (const auto *choice = as<Select>(value)) {
      const bool denies = has_denial(choice->condition(), flag);
      if (!keeps(set, choice->otherwise(), flag, equations)) {
        return false;
      }
      if (denies) {
        return true;
      }
      for (const ValuePtr &part : conjuncts_of(choice->condition())) {
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
      return keeps(set, choice->then(), flag, std::move(equations));
    }
    if (const auto *own = as<Local>(value)) {
      const auto known = values_.find(own->id);
      return known != values_.end() && keeps(set, known->second, flag, std::move(equations));
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
  std::map<std::int64_t, ValuePtr> values_; ///< of locals that are given one value only
  std::set<std::int64_t> temporaries_;
  std::set<std::int64_t> own_;
  std::set<std::int64_t> inside_; ///< variables and locals that are made in an iteration
  std::set<std::int64_t> scoped_; ///< buffers that are
};

class Leaving {
public:
  explicit Leaving(const Kernel &kernel)
      : kernel_(kernel), reads_(reads_in(kernel.body)), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    const std::vector<ValuePtr> flags = loop == nullptr || !loop->prefetches.empty()
                                            ? std::vector<ValuePtr>()
                                            : LeftLoop(*loop, kernel_, reads_).flags();
    if (flags.empty()) {
      return map_children(statement, *this);
    }
    const StmtPtr body = (*this)(loop->body());
    const std::int64_t id = numbers_.next();
    const ValuePtr next = local(id, "next", {Int64, 1});
    const ValuePtr iteration = variable(loop->id, loop->name);
    ValuePtr goes_on = binary_value(Op::Lt, next, loop->upper);
    for (const ValuePtr &flag : flags) {
      goes_on = both(goes_on, unary_value(Op::Not, flag));
    }
    return block(
        {declare_local(id, "next", loop->lower),
         while_loop(goes_on, block({let(loop->id, loop->name, next), body,
                                    assign_local(id, "next", add(iteration, integer(1)))}))});
  }

private:
  const Kernel &kernel_;
  std::map<std::int64_t, int> reads_;
  Numbers numbers_;
};

} // namespace

void leave_loops(Kernel &kernel) { kernel.body = Leaving(kernel)(kernel.body); }

} // namespace tilewright
