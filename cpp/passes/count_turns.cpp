#include "passes/count_turns.h"

#include "loops/traverse.h"
#include "passes/endless_loops.h"
#include "passes/loop_changes.h"
#include "passes/loop_memory.h"

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// A statement that sets the flag, under these conditions; null for what is not looked at.
struct Setting {
  const LoopStatement *statement = nullptr;
  std::vector<ValuePtr> conditions;
};

class CountedLoop {
public:
  CountedLoop(const For &loop, LoopMemory memory)
      : loop_(loop), memory_(std::move(memory)), changed_(loop) {}

  /// Finds the statement and the count at which it sets the flag.
  bool find() {
    name_ = flag_that_ends(loop_);
    if (name_.empty() || as_integer(loop_.lower) != 0) {
      return false;
    }
    collect(loop_.body(), {});
    for (const Setting &setting : settings_) {
      if (count_at(setting)) {
        setting_ = setting.statement;
        return ends_all(loop_.body());
      }
    }
    return false;
  }

  std::int64_t flag() const { return cast<Store>(*setting_).buffer; }
  const ValuePtr &count() const { return count_; }
  /// What else has to hold for that; the same before and behind the loop.
  const ValuePtr &when() const { return when_; }

  /// Without the statement, and without the question that it answers.
  StmtPtr body() const {
    const bool is_never_set = settings_.size() == 1;
    ValueRewriter answered([&](const ValuePtr &value) -> ValuePtr {
      if (is_never_set && is_load_of(*value, flag())) {
        return boolean(false);
      }
      return same_value(value, test_) ? boolean(true) : nullptr;
    });
    const std::function<StmtPtr(const StmtPtr &)> rewrite =
        [&](const StmtPtr &statement) -> StmtPtr {
      if (statement.get() == setting_) {
        return block({});
      }
      return map_values(map_children(statement, rewrite), std::ref(answered));
    };
    return rewrite(loop_.body());
  }

private:
  /// Does a statement change nothing once the flag holds, or the count is reached? What a schedule
  /// has put beside the loop's own statements runs in all iterations; what an iteration keeps for
  /// itself is of no use without it.
  bool ends_all(const StmtPtr &statement) const {
    if (const auto *change = as<ElementChange>(*statement)) {
      return statement.get() == setting_ || memory_.temporaries.contains(change->buffer);
    }
    const auto *test = as<If>(statement);
    if (test == nullptr) {
      return std::all_of(statement->children.begin(), statement->children.end(),
                         [&](const StmtPtr &child) { return ends_all(child); });
    }
    const std::vector<ValuePtr> parts = conjuncts_of(test->condition);
    const bool ends = std::any_of(parts.begin(), parts.end(), [&](const ValuePtr &part) {
      const ValuePtr inner = denied(part);
      return same_value(part, test_) || (inner && is_load_of(*inner, flag()));
    });
    return (ends || ends_all(test->then())) &&
           (!test->has_otherwise() || ends_all(test->otherwise()));
  }

  void collect(const StmtPtr &statement, std::vector<ValuePtr> conditions) {
    if (const auto *set = as<Store>(statement)) {
      if (is_flag(*set)) {
        settings_.push_back({statement.get(), std::move(conditions)});
      }
      return;
    }
    const auto *test = as<If>(statement);
    if (test != nullptr) {
      const std::vector<ValuePtr> parts = conjuncts_of(test->condition);
      std::vector<ValuePtr> inside = conditions;
      inside.insert(inside.end(), parts.begin(), parts.end());
      collect(test->then(), std::move(inside));
      if (test->has_otherwise()) {
        collect(test->otherwise(), {nullptr});
      }
      return;
    }
    const bool is_sequence = is<Block>(statement);
    for (const StmtPtr &child : statement->children) {
      collect(child, is_sequence ? conditions : std::vector<ValuePtr>{nullptr});
    }
  }

  bool is_flag(const Store &set) const {
    return set.subscripts.empty() && !set.mask && as_boolean(set.value).value_or(false) &&
           set.name == name_;
  }

  /// Do its conditions hold from some count on, whatever else the loop does, until it is left?
  bool count_at(const Setting &setting) {
    ValuePtr test;
    when_ = boolean(true);
    for (const ValuePtr &condition : setting.conditions) {
      if (!condition) {
        return false;
      }
      const ValuePtr inner = denied(condition);
      const auto *element = inner ? as<Load>(inner) : nullptr;
      if (element != nullptr && element->buffer == cast<Store>(*setting.statement).buffer) {
        continue;
      }
      if (changed_.is_fixed(condition)) {
        when_ = both(when_, condition);
        continue;
      }
      if (!inner || test) {
        return false;
      }
      test = inner;
    }
    count_ = test ? count_of(test) : nullptr;
    test_ = test;
    return count_ != nullptr;
  }

  /// The first turn for which a comparison fails.
  ValuePtr count_of(const ValuePtr &test) const {
    const auto *below = as_binary(test, Op::Lt);
    const auto *above = as_binary(test, Op::Gt);
    const auto *compared = below != nullptr ? below : above;
    if (compared == nullptr || !changed_.is_fixed(compared->right())) {
      return nullptr;
    }
    const ValuePtr &stop = compared->right();
    std::vector<ValuePtr> parts;
    operands_of(Op::Add, compared->left(), parts);
    ValuePtr start = integer(0);
    std::int64_t step = 0;
    for (const ValuePtr &part : parts) {
      if (changed_.is_fixed(part)) {
        start = add(start, part);
        continue;
      }
      const std::int64_t factor = factor_of_turn(part);
      if (factor == 0 || step != 0) {
        return nullptr;
      }
      step = factor;
    }
    if (step == 0 || (step > 0) != (below != nullptr)) {
      return nullptr;
    }
    const ValuePtr way = step > 0 ? sub(stop, start) : sub(start, stop);
    const std::int64_t size = std::abs(step);
    const ValuePtr count =
        size == 1 ? way : binary_value(Op::FloorDiv, add(way, integer(size - 1)), integer(size));
    return select_value(binary_value(below != nullptr ? Op::Lt : Op::Gt, start, stop), count,
                        integer(0));
  }

  /// Of turn, or turn * 3; 0 of anything else.
  std::int64_t factor_of_turn(const ValuePtr &part) const {
    const auto is_turn = [&](const ValuePtr &value) {
      const auto *own = as<Variable>(value);
      return own != nullptr && own->id == loop_.id;
    };
    if (is_turn(part)) {
      return 1;
    }
    const auto *product = as_binary(part, Op::Mul);
    if (product == nullptr) {
      return 0;
    }
    for (const auto &[one, other] : {std::pair(product->left(), product->right()),
                                     std::pair(product->right(), product->left())}) {
      if (is_turn(one)) {
        return as_integer(other).value_or(0);
      }
    }
    return 0;
  }

  const For &loop_;
  LoopMemory memory_;
  LoopChanges changed_;
  std::string name_; ///< of the flag
  std::vector<Setting> settings_;
  const LoopStatement *setting_ = nullptr;
  ValuePtr test_;
  ValuePtr count_;
  ValuePtr when_;
};

class Counting {
public:
  explicit Counting(const Kernel &kernel)
      : kernel_(kernel), memories_(kernel), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (loop == nullptr || !loop->prefetches.empty()) {
      return map_children(statement, *this);
    }
    CountedLoop counted(*loop, memories_.of(*loop));
    if (!counted.find()) {
      return map_children(statement, *this);
    }
    const KernelBuffer &flag = kernel_.buffers.at(static_cast<size_t>(counted.flag()));
    const ValuePtr is_left = load(counted.flag(), flag.name, {Bool, 1}, {});
    const std::int64_t id = numbers_.next();
    const ValuePtr end = variable(id, "end");
    const StmtPtr body = (*this)(counted.body());
    const StmtPtr set = store(counted.flag(), flag.name, {}, boolean(true));
    return if_then(unary_value(Op::Not, is_left),
                   block({let(id, "end", binary_value(Op::Min, loop->upper, counted.count())),
                          for_loop(*loop, loop->lower, end, body), if_then(counted.when(), set)}));
  }

private:
  const Kernel &kernel_;
  LoopMemories memories_;
  Numbers numbers_;
};

} // namespace

void count_turns(Kernel &kernel) { kernel.body = Counting(kernel)(kernel.body); }

} // namespace tilewright
