#include "passes/find_first.h"

#include "loops/traverse.h"
#include "passes/search_loop.h"
#include "passes/terms_in_lanes.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

/// Asked for at once, before the one is looked for.
constexpr int vectors_at_once = 4;

/// Whether nothing happens in a turn that goes on but that locals are set to what depends on the
/// iteration alone, and what ends the loop depends on nothing that turns change.
bool is_search(const PassingTurn &turn) {
  const auto reads_changing = [&](const ValuePtr &value, bool memory) {
    bool found = false;
    visit_value(value, [&](const Value &node) {
      const auto *own = as<Local>(node);
      found = found || (own != nullptr && turn.is_assigned(own->id)) || (memory && is<Load>(node));
    });
    return found;
  };
  return turn.sets_locals_only() && turn.asked().empty() &&
         std::none_of(turn.ends().begin(), turn.ends().end(),
                      [&](const ValuePtr &end) { return reads_changing(end, false); }) &&
         std::none_of(turn.set().begin(), turn.set().end(), [&](const LoopOutcome &set) {
           return !set.value || reads_changing(set.value, true);
         });
}

class FirstFinder {
public:
  explicit FirstFinder(const Kernel &kernel) : kernel_(kernel), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (const auto *loop = as<While>(statement)) {
      if (const auto search = SearchLoop::of(*loop)) {
        PassingTurn passing(*search);
        StmtPtr ahead = passing.run() && is_search(passing) ? go_over(*search, passing) : nullptr;
        if (ahead) {
          return block({std::move(ahead), statement});
        }
      }
    }
    return map_children(statement, *this);
  }

private:
  LocalPtr numbered_local(const std::string &name, ValueType type) {
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
  StmtPtr go_over(const SearchLoop &search, const PassingTurn &passing) {
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
    for (const LocalPtr &flag : search.flags) {
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
  Numbers numbers_;
};

} // namespace

void find_first(Kernel &kernel) { kernel.body = FirstFinder(kernel)(kernel.body); }

} // namespace tilewright
