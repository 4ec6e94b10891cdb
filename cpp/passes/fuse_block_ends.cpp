#include "passes/fuse_block_ends.h"

#include "loops/index_tests.h"
#include "loops/summing_loops.h"
#include "loops/traverse.h"

#include <algorithm>
#include <optional>
#include <set>

namespace tilewright {

namespace {

/// Which buffers a piece of code reads and changes.
struct Touched {
  std::set<std::int64_t> read;
  std::set<std::int64_t> changed;
  bool is_plain = true; ///< loops, blocks and stores alone
};

Touched touched_by(const StmtPtr &root) {
  Touched result;
  visit_statements(root, [&](const LoopStatement &statement) {
    if (const auto *change = as<ElementChange>(statement)) {
      result.changed.insert(change->buffer);
    }
    visit_values(statement, [&](const Value &value) {
      if (const auto *load = as<Load>(value)) {
        result.read.insert(load->buffer);
      }
    });
    result.is_plain = result.is_plain && (statement.kind == StatementKind::For ||
                                          statement.kind == StatementKind::Block ||
                                          statement.kind == StatementKind::Store);
  });
  return result;
}

/// One subscript of all accesses of a buffer in the bodies of some loops: step * counter + around +
/// something in [least, most], where `around` is the same for all.
struct RowSubscript {
  std::int64_t step = 0;
  std::optional<Linear> around;
  std::int64_t least = 0;
  std::int64_t most = 0;

  /// Do different iterations of a loop touch different elements?
  bool tells_apart() const { return around && step > 0 && most - least < step; }
};

class RowSubscripts {
public:
  RowSubscripts(std::int64_t buffer, Ranges known) : buffer_(buffer), known_(std::move(known)) {}

  /// Adds the accesses in the body of a loop; its counter is the same number in all loops.
  void add(const For &loop) {
    std::set<std::int64_t> inside;
    Ranges known = known_;
    visit_statements(loop.body(), [&](const LoopStatement &statement) {
      if (const std::int64_t *variable = defined_variable(statement)) {
        inside.insert(*variable);
      }
      if (const auto *inner = as<For>(statement)) {
        Interval values{known.of(inner->lower).lower, known.of(inner->upper).upper};
        if (values.upper) {
          values.upper = *values.upper - 1;
        }
        known.variables[inner->id] = values;
      }
    });
    const auto see = [&](const std::vector<ValuePtr> &subscripts) {
      found_.resize(subscripts.size());
      for (size_t d = 0; d < subscripts.size(); ++d) {
        found_[d] = merged(found_[d], row_subscript(subscripts[d], loop.id, inside, known));
      }
      seen_ = true;
    };
    visit_statements(loop.body(), [&](const LoopStatement &statement) {
      if (const auto *change = as<ElementChange>(statement);
          change != nullptr && change->buffer == buffer_) {
        see(change->subscripts);
      }
      visit_values(statement, [&](const Value &value) {
        if (const auto *load = as<Load>(value); load != nullptr && load->buffer == buffer_) {
          see(load->subscripts());
        }
      });
    });
  }

  bool tell_apart() const {
    return std::any_of(found_.begin(), found_.end(),
                       [](const auto &one) { return one && one->tells_apart(); });
  }

private:
  static std::optional<RowSubscript> row_subscript(const ValuePtr &value, std::int64_t counter,
                                                   const std::set<std::int64_t> &inside,
                                                   const Ranges &known) {
    const std::optional<Linear> linear = is_index(value) ? linear_of(value) : std::nullopt;
    if (!linear) {
      return std::nullopt;
    }
    RowSubscript result;
    Linear around;
    Linear within;
    within.constant = linear->constant;
    const std::optional<std::int64_t> step = coefficient_of(*linear, counter);
    if (!step) {
      return std::nullopt;
    }
    result.step = *step;
    for (const Linear::Term &term : linear->terms) {
      if (!is_variable(term.atom, counter)) {
        const bool varies = std::any_of(inside.begin(), inside.end(), [&](std::int64_t variable) {
          return mentions(term.atom, variable);
        });
        (varies ? within : around).terms.push_back(term);
      }
    }
    const Interval interval = known.of(within);
    if (!interval.lower || !interval.upper) {
      return std::nullopt;
    }
    result.around = std::move(around);
    result.least = *interval.lower;
    result.most = *interval.upper;
    return result;
  }

  std::optional<RowSubscript> merged(const std::optional<RowSubscript> &before,
                                     const std::optional<RowSubscript> &now) const {
    if (!seen_ || !before || !now) {
      return seen_ ? std::nullopt : now;
    }
    const std::optional<Linear> difference = combine(*before->around, *now->around, -1);
    if (before->step != now->step || !difference || !difference->terms.empty()) {
      return std::nullopt;
    }
    RowSubscript result = *before;
    result.least = std::min(before->least, now->least);
    result.most = std::max(before->most, now->most);
    return result;
  }

  std::int64_t buffer_;
  Ranges known_;
  std::vector<std::optional<RowSubscript>> found_;
  bool seen_ = false; ///< by an access before the one at hand
};

class BlockEnds {
public:
  BlockEnds(const StmtPtr &root, const Ranges &known) : numbers_(root), known_(known) {}

  StmtPtr operator()(const StmtPtr &statement) {
    StmtPtr inner = map_children(statement, *this);
    if (inner->kind != StatementKind::Block) {
      return inner;
    }
    std::vector<StmtPtr> children;
    for (size_t at = 0; at < inner->children.size(); ++at) {
      const auto here = inner->children.begin() + static_cast<std::ptrdiff_t>(at);
      const size_t left = inner->children.size() - at;
      size_t taken = 0;
      StmtPtr fused;
      if (left > 2 && (fused = fuse(here[0], here[1], here[2]))) {
        taken = 3;
      } else if (left > 1 && (fused = fuse(here[0], here[1], nullptr))) {
        taken = 2;
      }
      children.push_back(fused ? fused : *here);
      at += taken > 0 ? taken - 1 : 0;
    }
    return block(std::move(children));
  }

private:
  /// A nest before or behind the blocks, which may stand under a test of index values.
  struct End {
    StmtPtr nest;
    ValuePtr condition; ///< null: none
    const For *loop = nullptr;
  };

  static End end_of(const StmtPtr &statement) {
    End end;
    end.nest = statement;
    const auto *test = statement ? as<If>(statement) : nullptr;
    if (test != nullptr && !test->has_otherwise() && is_of_indices(test->condition)) {
      end.condition = test->condition;
      end.nest = test->then();
    }
    end.loop = serial(end.nest);
    return end;
  }

  static bool is_of_indices(const ValuePtr &condition) {
    std::vector<ValuePtr> tests;
    operands_of(Op::And, condition, tests);
    return std::all_of(tests.begin(), tests.end(), is_index_test);
  }

  static const For *serial(const StmtPtr &statement) {
    const auto *loop = statement ? as<For>(statement) : nullptr;
    return loop != nullptr && loop->loop == LoopKind::Serial && loop->prefetches.empty() ? loop
                                                                                         : nullptr;
  }

  /// The last loop in the body of `statement`: behind what is allocated and packed.
  static const For *last_loop(const StmtPtr &statement) {
    if (statement->kind == StatementKind::Allocate || statement->kind == StatementKind::Block) {
      return statement->children.empty() ? nullptr : last_loop(statement->children.back());
    }
    return serial(statement);
  }

  /// `statement` with its last loop replaced.
  static StmtPtr with_last_loop(const StmtPtr &statement, const StmtPtr &loop) {
    if (statement->kind == StatementKind::For) {
      return loop;
    }
    std::vector<StmtPtr> children = statement->children;
    children.back() = with_last_loop(children.back(), loop);
    return with_children(statement, std::move(children));
  }

  static bool same_range(const For &a, const For &b) {
    return same_value(a.lower, b.lower) && same_value(a.upper, b.upper);
  }

  /// `end`, a nest before or behind the blocks, may run row by row among them.
  bool may_join(const For &end, const Touched &touches, const For &tile, std::int64_t buffer,
                const Touched &blocks) const {
    return touches.is_plain && touches.changed == std::set<std::int64_t>{buffer} &&
           same_range(end, tile) &&
           std::none_of(touches.read.begin(), touches.read.end(), [&](std::int64_t read) {
             return read != buffer && blocks.changed.contains(read);
           });
  }

  /// Null where it is not that pattern; `behind` may be null.
  StmtPtr fuse(const StmtPtr &before, const StmtPtr &blocks, const StmtPtr &behind) {
    const End begin = end_of(before);
    const End end = behind ? end_of(behind) : End();
    const For *first = begin.loop;
    const For *loop = serial(blocks);
    const For *last = end.loop;
    const For *tile = first != nullptr && loop != nullptr ? last_loop(loop->body()) : nullptr;
    if (tile == nullptr || (behind && last == nullptr)) {
      return nullptr;
    }
    const Touched begins = touched_by(begin.nest);
    if (begins.changed.size() != 1) {
      return nullptr;
    }
    const std::int64_t buffer = *begins.changed.begin();
    const Touched all = touched_by(blocks);
    if (!may_join(*first, begins, *tile, buffer, all) || begins.read.contains(buffer) ||
        mentions(tile->lower, loop->id) || mentions(tile->upper, loop->id) ||
        !is_alone(loop->body(), *tile, buffer)) {
      return nullptr;
    }
    RowSubscripts rows(buffer, known_);
    rows.add(*first);
    rows.add(*tile);
    if (last != nullptr) {
      if (!may_join(*last, touched_by(end.nest), *tile, buffer, all)) {
        return nullptr;
      }
      rows.add(*last);
    }
    if (!rows.tell_apart()) {
      return nullptr;
    }
    const ValuePtr counter = variable(loop->id, loop->name);
    const ValuePtr at_first = binary_value(Op::Eq, counter, loop->lower);
    const ValuePtr at_last = binary_value(Op::Eq, add(counter, integer(1)), loop->upper);
    const auto under = [](const ValuePtr &test, const ValuePtr &own) {
      return own ? both(test, own) : test;
    };
    std::vector<StmtPtr> parts = {if_then(under(at_first, begin.condition), row_of(*first, *tile)),
                                  tile->body()};
    if (last != nullptr) {
      parts.push_back(if_then(under(at_last, end.condition), row_of(*last, *tile)));
    }
    const StmtPtr rows_loop = for_loop(*tile, tile->lower, tile->upper, block(std::move(parts)));
    const StmtPtr fused =
        for_loop(*loop, loop->lower, loop->upper, with_last_loop(loop->body(), rows_loop));
    const StmtPtr apart = block(behind ? std::vector{before, behind} : std::vector{before});
    return if_then(binary_value(Op::Lt, loop->lower, loop->upper), fused, apart);
  }

  /// Is `tile` all that touches the buffer in a body?
  static bool is_alone(const StmtPtr &body, const For &tile, std::int64_t buffer) {
    if (body->kind == StatementKind::For) {
      return true; // the tile itself
    }
    for (size_t at = 0; at + 1 < body->children.size(); ++at) {
      const Touched other = touched_by(body->children[at]);
      if (other.read.contains(buffer) || other.changed.contains(buffer)) {
        return false;
      }
    }
    return is_alone(body->children.back(), tile, buffer);
  }

  /// The body of `loop` in an iteration of `tile`.
  StmtPtr row_of(const For &loop, const For &tile) {
    return copy_with(loop.body(), {{loop.id, variable(tile.id, tile.name)}}, numbers_);
  }

  Numbers numbers_;
  const Ranges &known_;
};

} // namespace

StmtPtr fuse_block_ends(const StmtPtr &body, const Ranges &known) {
  return BlockEnds(body, known)(body);
}

} // namespace tilewright
