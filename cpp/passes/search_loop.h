// Loops as leave_loops makes them of `while` and `break`, and what one of their turns does.
#pragma once

#include "loops/build.h"
#include "passes/loop_outcomes.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace tilewright {

using LocalPtr = std::shared_ptr<const Local>;

///     while next < end and not flag:
///       iteration = next
///       body
///       next = iteration + 1
struct SearchLoop {
  LocalPtr next;
  ValuePtr end;
  std::vector<LocalPtr> flags; ///< the loop ends when one is set
  std::shared_ptr<const Variable> iteration;
  std::vector<StmtPtr> body;

  static std::optional<SearchLoop> of(const While &loop);
  /// The loop with another end and another body, which begins with `iteration = next`.
  StmtPtr with(const ValuePtr &other_end, std::vector<StmtPtr> other_body) const;
};

/// What happens in a turn in which no flag is set, as one value for each thing, over the iteration
/// and what locals are before the turn.
class PassingTurn {
public:
  explicit PassingTurn(const SearchLoop &search) : search_(search) {}

  /// False where that is not found: for loops inside, and values that would become long.
  bool run();

  /// When flags are set: one of these holds.
  const std::vector<ValuePtr> &ends() const { return ends_; }
  /// What locals are behind the turn, except its own; the value is null where it is not found.
  const std::vector<LoopOutcome> &set() const { return set_; }
  /// Whether it does nothing but set locals, and ask for what is inside of arrays.
  bool sets_locals_only() const { return sets_locals_only_; }
  /// Whether a local is assigned in a turn.
  bool is_assigned(std::int64_t id) const { return assigned_.contains(id); }

  /// A subscript that must be inside of an array.
  struct Inside {
    ValuePtr subscript; ///< null where it is not the same whether the turn ends the loop or not
    ValuePtr extent;
  };
  /// The checks of the turn, and the tests that have nothing but a subscript inside of an array for
  /// a condition.
  const std::map<const LoopStatement *, Inside> &asked() const { return asked_; }

private:
  bool walk(const StmtPtr &statement, const ValuePtr &guard);
  bool walk_test(const If &test, const ValuePtr &guard);
  bool assign(const AssignLocal &assigned, const ValuePtr &guard);
  void note_inside(const LoopStatement &statement, const ValuePtr &value, const ValuePtr &extent);
  ValuePtr now(const ValuePtr &value) const;
  bool is_flag(std::int64_t id) const;

  const SearchLoop &search_;
  bool knows_ends_ = false; ///< in the second walk, in which none of them holds
  bool sets_locals_only_ = true;
  bool has_stored_ = false; ///< where the walk is
  std::vector<ValuePtr> ends_;
  std::vector<LoopOutcome> set_;
  std::map<std::int64_t, ValuePtr> values_; ///< of locals and variables; null: not known
  std::map<std::int64_t, LocalPtr> assigned_;
  std::set<std::int64_t> passed_;   ///< locals that are assigned in the second walk
  std::set<std::int64_t> declared_; ///< what the turn defines for itself
  std::map<const LoopStatement *, Inside> asked_;
};

} // namespace tilewright
