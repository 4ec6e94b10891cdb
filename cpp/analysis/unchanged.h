// Which statements of a program are, for legality, those of an earlier program that was found
// legal. A command changes one computation and perhaps its neighbours; a question that concerns
// unchanged statements in unchanged order has the answer that it had.
#pragma once

#include "mapping/accesses.h"
#include "mapping/program.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// A program in which no violation was found, with what finding that out has told about it.
struct LegalProgram {
  Program program;
  std::vector<bool> stored_apart; ///< by buffer
  /// By statement, each read once; where nobody asked, there is none.
  std::map<std::string, std::shared_ptr<const std::vector<ReadAccess>>> reads;
};

class Unchanged {
public:
  /// `before` may be null: then everything has changed. Both must outlive this object.
  Unchanged(const Program &now, const LegalProgram *before);

  /// The statement runs when and where it did, on its own, and does the same.
  bool statement(const Statement &statement) const { return earlier(statement) != nullptr; }
  /// Both did, and their order is what it was.
  bool pair(const Statement &first, const Statement &second) const;
  /// The statements that write a buffer are those that did, in the same order among each other.
  bool buffer(size_t buffer) const { return buffers_[buffer]; }
  /// The same, but the tags of their loops may have changed: they write the same elements.
  bool same_writes(size_t buffer) const { return same_writes_[buffer]; }
  /// The earlier program showed the same elements there.
  bool was_shown(const Program::View &view) const;
  /// What `stored_apart` was for a buffer with the same writes.
  bool was_apart(size_t buffer) const;
  /// The loops in which alone instances of both, whose order is otherwise what it was, may have
  /// lost it: those that were given another tag, and are not ordered. Nothing where more than tags
  /// has changed.
  std::optional<std::vector<size_t>> newly_concurrent(const Statement &first,
                                                      const Statement &second) const;
  /// The reads of a statement whose instances are the same, whenever they run; or null.
  std::shared_ptr<const std::vector<ReadAccess>> reads(const Statement &statement) const;

private:
  const Statement *earlier(const Statement &statement) const {
    return earlier_[static_cast<size_t>(&statement - now_.statements.data())];
  }
  const Statement *but_for_tags(const Statement &statement) const {
    return but_for_tags_[static_cast<size_t>(&statement - now_.statements.data())];
  }
  /// A level of a statement's time: the number that it is for all instances, or a loop, the
  /// how-many-eth one that is none.
  struct Level {
    std::optional<std::int64_t> place;
    size_t loop = 0;

    bool operator==(const Level &) const = default;
  };
  /// Of two statements at one level: which comes first, or what is compared.
  struct Comparison {
    int sign = 0;
    Level first;
    Level second;

    bool operator==(const Comparison &) const = default;
  };
  static std::vector<Level> levels_of(const Statement &statement);
  static std::vector<size_t> loops_of(const std::vector<Level> &levels);
  static std::vector<Comparison> order_of(const Statement &first,
                                          const std::vector<Level> &of_first,
                                          const Statement &second,
                                          const std::vector<Level> &of_second);
  const std::vector<Level> &levels(const Statement &statement) const {
    return levels_[static_cast<size_t>(&statement - now_.statements.data())];
  }
  const std::vector<Level> &earlier_levels(const Statement &statement) const {
    return earlier_levels_[static_cast<size_t>(&statement - before_->program.statements.data())];
  }
  bool same_but_for_tags(const Statement &now, const Statement &then) const;
  bool same_order_of_loops(const Statement &now, const Statement &then) const;
  /// Both pairs are ordered alike, as far as it does not depend on the values of loops: places may
  /// have other numbers, and there may be more or fewer of them.
  bool same_positions(const Statement &first, const Statement &second, const Statement &one,
                      const Statement &other) const;

  const Program &now_;
  const LegalProgram *before_;
  std::vector<std::vector<Level>> levels_;         ///< of each statement
  std::vector<std::vector<Level>> earlier_levels_; ///< of each one of the earlier program
  std::vector<const Statement *> earlier_;         ///< of each statement, or null
  std::vector<const Statement *> but_for_tags_;    ///< the same, also with other tags
  std::vector<bool> buffers_;
  std::vector<bool> same_writes_;
};

} // namespace tilewright
