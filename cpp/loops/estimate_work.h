// How much work a loop is, as a value that can be computed before it runs: the question whether
// threads are worth their start. An estimate, made of the extents of the loops inside and of what
// their statements compute; nobody may rely on more than its order of magnitude.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace tilewright {

/// In operations of a processor on one register, at most 2^40 for a loop; int64, of what is known
/// outside of `statement`.
ValuePtr estimated_work(const LoopStatement &statement);
/// The same in one iteration of the `around` outermost loops: of one product of a batch.
ValuePtr work_within(const LoopStatement &statement, int around);

/// Which loops of a kernel have to count what they do, so that a thread never works for long
/// without looking up: those whose work has no small bound. Answers are remembered by statement.
class WorkBounds {
public:
  /// Work up to here is not counted: some hundred microseconds.
  static constexpr std::int64_t max_uncounted = std::int64_t{1} << 18;

  /// The most that a statement can come to, whatever its parameters and data are; nothing where
  /// that is more than max_uncounted.
  std::optional<std::int64_t> most(const LoopStatement &statement);
  /// The most that is done beside loops that count themselves.
  std::int64_t beside_counting(const LoopStatement &statement);
  /// Whether the statement always gets to a loop that counts.
  bool surely_counts(const LoopStatement &statement);

  /// The most iterations of a loop, where its bounds are constants or a constant apart.
  static std::optional<std::int64_t> max_iterations(const For &loop);
  /// Whether each iteration touches other elements of some array: memory bounds how long it runs.
  static bool walks_through_memory(const For &loop);

private:
  std::optional<std::int64_t> bounded(const LoopStatement &statement);

  std::unordered_map<const LoopStatement *, std::optional<std::int64_t>> known_;
};

} // namespace tilewright
