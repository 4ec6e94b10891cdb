// The transaction of a function's schedule: commands that are given one after the other, each
// checked for sense when it is given, and all of them for legality at the end. It belongs to the
// thread that opened it: this one sees what its commands have made so far, and may not run it; for
// all other threads the function is as it was, and they give no commands meanwhile. A transaction
// within one joins it: what it fails at is forgotten from its own beginning, and legality is asked
// at the end of the outermost one.
#pragma once

#include "mapping/mapping.h"
#include "mapping/schedule.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tilewright {

class OpenTransaction {
public:
  /// What the commands of a transaction came to.
  struct Made {
    Mapping mapping;
    Command command; ///< all of them as one
  };

  /// All but is_here(), leave() and require_none_here() need isl's lock.
  bool is_open() const { return now_.has_value(); }
  /// Whether this thread has opened one.
  bool is_here() const {
    return thread_.load(std::memory_order_relaxed) == std::this_thread::get_id();
  }

  /// Opens the outermost one, for commands after `mapping`; the number ends it.
  std::uint64_t begin(const Mapping &mapping, const SourceLocation &where);
  /// Opens one within those that are open.
  std::uint64_t begin_inside();
  /// `mapping` instead of the one that it began with; no command has been given.
  void begin_again(const Mapping &mapping);
  /// One more command. Throws Error(Schedule) where it makes no sense, and is not added.
  void add(const Command &command);
  /// Ends a transaction and those within it; what was made, where it was the outermost one. Throws
  /// Error(Schedule) where it is over.
  std::optional<Made> end(const Function &function, std::uint64_t transaction);
  /// Ends it, and forgets the commands since its beginning.
  void drop(std::uint64_t transaction);
  /// From now on the outermost one is no thread's; drop() follows. Needs no lock.
  void leave(std::uint64_t transaction) noexcept;

  /// What this thread's commands have made so far, or null.
  const Mapping *made_here() const { return is_open() && is_here() ? &now_->mapping : nullptr; }
  const std::vector<Command> &commands() const { return now_->commands; }
  Command command() const { return transaction_of(now_->commands, now_->where); }

  /// Error(Schedule) where another thread has opened it.
  void require_here(const Function &function, const SourceLocation &where) const;
  /// Error(Schedule) where this thread has opened one.
  void require_none_here(const Function &function) const;

private:
  struct Level {
    std::uint64_t number = 0;
    Mapping before;
    size_t commands = 0; ///< that were given before it
  };
  struct State {
    SourceLocation where;
    Mapping mapping;
    std::vector<Command> commands;
    std::vector<Level> levels; ///< outermost first
  };

  void close();
  /// ", which began at line 3 of ...", for messages.
  std::string beginning() const;
  std::vector<Level>::iterator find(std::uint64_t transaction);

  std::optional<State> now_;
  std::atomic<std::thread::id> thread_{};
  std::atomic<std::uint64_t> outermost_{0};
  std::uint64_t last_number_ = 0;
};

} // namespace tilewright
