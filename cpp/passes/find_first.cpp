#include "passes/find_first.h"

#include "loops/traverse.h"
#include "passes/loop_outcomes.h"
#include "passes/terms_in_lanes.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

/// Asked for at once, before the one is looked for.
constexpr int vectors_at_once = 4;

using FlagPtr = std::shared_ptr<const Local>;

bool is_own_local(const ValuePtr &value, std::int64_t id) {
  const auto *own = as<Local>(value);
  return own != nullptr && own->id == id;
}

/// A loop as leave_loops makes it.
struct SearchLoop {
  FlagPtr next;
  ValuePtr end;
  std::vector<FlagPtr> flags; ///< the loop ends when one is set
  std::shared_ptr<const Variable> iteration;
  std::vector<StmtPtr> body;

  static std::optional<SearchLoop> of(const While &loop) {
    SearchLoop search;
    std::vector<ValuePtr> parts;
    operands_of(Op::And, loop.condition, parts);
    for (const ValuePtr &part : parts) {
      const auto *test = as_binary(part, Op::Lt);
      const auto *inverse = as<Unary>(part);
      if (test != nullptr && search.next == nullptr && is<Local>(test->left())) {
        search.next = std::static_pointer_cast<const Local>(test->left());
        search.end = test->right();
      } else if (inverse != nullptr && inverse->op == Op::Not && is<Local>(inverse->operands[0])) {
        search.flags.push_back(std::static_pointer_cast<const Local>(inverse->operands[0]));
      } else {
        return std::nullopt;
      }
    }
    if (search.next == nullptr || search.flags.empty() || !is<Block>(loop.body()) ||
        loop.body()->children.size() < 3) {
      return std::nullopt;
    }
    search.body = loop.body()->children;
    const auto *begin = as<Let>(search.body.front());
    const auto *last = as<AssignLocal>(search.body.back());
    if (begin == nullptr || last == nullptr || !is_own_local(begin->value, search.next->id) ||
        last->id != search.next->id) {
      return std::nullopt;
    }
    search.iteration = variable(begin->id, begin->name);
    if (!same_value(last->value, add(search.iteration, integer(1)))) {
      return std::nullopt;
    }
    search.body = {search.body.begin() + 1, search.body.end() - 1};
    return search;
  }
};

/// What happens in an iteration in which no flag is set.
class PassingIterations {
public:
  explicit PassingIterations(const SearchLoop &search) : search_(search) {}

  /// False if more happens than that locals are set to what depends on the iteration alone.
  bool run() {
    for (const StmtPtr &statement : search_.body) {
      note_ends(statement, boolean(true));
    }
    return !ends_.empty() &&
           std::all_of(search_.body.begin(), search_.body.end(),
                       [&](const StmtPtr &each) { return passes(each); }) &&
           std::none_of(ends_.begin(), ends_.end(), [&](const ValuePtr &end) {
             return reads_any(end, set_) || reads_flags(end);
           });
  }

  /// When flags are set: one of these holds.
  const std::vector<ValuePtr> &ends() const { return ends_; }
  const std::vector<LoopOutcome> &set() const { return set_; }

private:
  bool is_flag(std::int64_t id) const {
    return std::any_of(search_.flags.begin(), search_.flags.end(),
                       [&](const FlagPtr &flag) { return flag->id == id; });
  }
  bool reads_flags(const ValuePtr &value) const {
    bool found = false;
    visit_value(value, [&](const Value &node) {
      const auto *own = as<Local>(node);
      found = found || (own != nullptr && is_flag(own->id));
    });
    return found;
  }

  /// A value while no flag is set, and none of what sets one holds.
  ValuePtr while_open(const ValuePtr &value) const {
    return ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
      const auto *own = as<Local>(node);
      if (own != nullptr && is_flag(own->id)) {
        return boolean(false);
      }
      for (const ValuePtr &end : ends_) {
        const auto *inverse = as<Unary>(end);
        if (same_value(node, end)) {
          return boolean(false);
        }
        if (inverse != nullptr && inverse->op == Op::Not &&
            same_value(node, inverse->operands[0])) {
          return boolean(true);
        }
      }
      return nullptr;
    })(value);
  }

  /// The conditions under which a statement sets a flag.
  void note_ends(const StmtPtr &statement, const ValuePtr &around) {
    if (const auto *assigned = as<AssignLocal>(statement); assigned && is_flag(assigned->id)) {
      const ValuePtr end = both(around, while_open(assigned->value));
      if (as_boolean(end) != false) {
        ends_.push_back(end);
      }
    }
    if (const auto *test = as<If>(statement); test && !test->has_otherwise()) {
      note_ends(test->then(), both(around, while_open(test->condition)));
    } else if (is<Block>(statement)) {
      for (const StmtPtr &child : statement->children) {
        note_ends(child, around);
      }
    }
  }

  bool passes(const StmtPtr &statement) {
    if (is<Block>(statement)) {
      return std::all_of(statement->children.begin(), statement->children.end(),
                         [&](const StmtPtr &child) { return passes(child); });
    }
    if (const auto *test = as<If>(statement); test && !test->has_otherwise()) {
      const auto holds = as_boolean(while_open(test->condition));
      return holds == false || (holds == true && passes(test->then()));
    }
    const auto *assigned = as<AssignLocal>(statement);
    if (assigned == nullptr) {
      return false;
    }
    const ValuePtr value = while_open(assigned->value);
    if (is_flag(assigned->id)) {
      return as_boolean(value) == false;
    }
    bool reads_memory = false;
    visit_value(value, [&](const Value &node) {
      reads_memory = reads_memory || is<Load>(node) || is<Local>(node);
    });
    set_.push_back({local(assigned->id, assigned->name, assigned->value->type), value});
    return !reads_memory;
  }

  const SearchLoop &search_;
  std::vector<ValuePtr> ends_;
  std::vector<LoopOutcome> set_;
};

class FirstFinder {
public:
  explicit FirstFinder(const Kernel &kernel) : kernel_(kernel), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (const auto *loop = as<While>(statement)) {
      const auto search = SearchLoop::of(*loop);
      PassingIterations passing(search ? *search : none_);
      if (search && passing.run()) {
        if (StmtPtr ahead = go_over(*search, passing)) {
          return block({std::move(ahead), statement});
        }
      }
    }
    return map_children(statement, *this);
  }

private:
  FlagPtr numbered_local(const std::string &name, ValueType type) {
    return local(numbers_.next(), name, type);
  }

  /// So many iterations at once, as long as what is asked for holds in none of them.
  StmtPtr go_over(const SearchLoop &search, const ValuePtr &found, const ValuePtr &is_open,
                  std::int64_t iterations) {
    const auto goes_on = numbered_local("goes_on", {Bool, 1});
    const ValuePtr next = add(search.next, integer(iterations));
    const ValuePtr has_vector = binary_value(Op::Le, next, search.end);
    const StmtPtr step = block({assign_local(search.next->id, search.next->name, next),
                                assign_local(goes_on->id, goes_on->name, has_vector)});
    const StmtPtr stop = assign_local(goes_on->id, goes_on->name, boolean(false));
    return block({declare_local(goes_on->id, goes_on->name, both(is_open, has_vector)),
                  while_loop(goes_on, if_then(reduce_lanes(Op::Or, found), stop, step))});
  }

  /// Null where what the tests read does not lie side by side.
  StmtPtr go_over(const SearchLoop &search, const PassingIterations &passing) {
    int bytes = 0;
    ValuePtr is_inside = boolean(true);
    bool has_more = false; // than comparisons and arithmetic
    for (const ValuePtr &end : passing.ends()) {
      visit_value(end, [&](const Value &node) {
        has_more = has_more || is<Call>(node) || is<Extern>(node);
        const auto *read = as<Load>(node);
        if (read == nullptr || read->subscripts().empty()) {
          return;
        }
        bytes = std::max(bytes, static_cast<int>(read->type.scalar.bytes()));
        const ValuePtr &extent = kernel_.buffers[static_cast<size_t>(read->buffer)].extents.back();
        const ValuePtr last = with_variable(read->subscripts().back(), search.iteration->id,
                                            sub(search.end, integer(1)));
        is_inside = both(is_inside, binary_value(Op::Lt, last, extent));
      });
    }
    if (bytes == 0 || has_more) {
      return nullptr;
    }
    const int lanes = term_vector_bytes / bytes;
    const TermsInLanes vector(search.iteration->id, lanes);
    ValuePtr is_open = is_inside;
    for (const FlagPtr &flag : search.flags) {
      is_open = both(is_open, unary_value(Op::Not, flag));
    }
    const auto first = numbered_local("first", {Int64, 1});
    std::vector<StmtPtr> all{declare_local(first->id, first->name, search.next)};
    for (const int vectors : {vectors_at_once, 1}) {
      ValuePtr found;
      for (int v = 0; v < vectors; ++v) {
        for (const ValuePtr &end : passing.ends()) {
          const ValuePtr part = vector(end, add(search.next, integer(v * lanes)));
          if (!part) {
            return nullptr;
          }
          found = found ? either(found, part) : part;
        }
      }
      all.push_back(go_over(search, found, is_open, vectors * lanes));
    }
    std::vector<StmtPtr> set;
    for (const LoopOutcome &each : passing.set()) {
      set.push_back(assign_local(
          each.local->id, each.local->name,
          with_variable(each.value, search.iteration->id, sub(search.next, integer(1)))));
    }
    if (!set.empty()) {
      all.push_back(if_then(binary_value(Op::Lt, first, search.next), block(std::move(set))));
    }
    return block(std::move(all));
  }

  const Kernel &kernel_;
  const SearchLoop none_{};
  Numbers numbers_;
};

} // namespace

void find_first(Kernel &kernel) { kernel.body = FirstFinder(kernel)(kernel.body); }

} // namespace tilewright
