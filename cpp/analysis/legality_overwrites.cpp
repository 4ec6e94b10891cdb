// What else is written to the element of a value, and when: nothing between its write and its
// reads.
#include "analysis/legality_checker.h"
#include "mapping/accesses.h"
#include "mapping/compare_loops.h"

#include <algorithm>

namespace tilewright {

/// So many outermost loops of which each pair of `flow` shares one iteration.
size_t LegalityChecker::loops_together(const Statement &source, const Statement &sink,
                                       const isl::map &flow) const {
  size_t level = 0;
  for (; level < static_cast<size_t>(program_.depth); ++level) {
    if (source.order[level] != sink.order[level] ||
        !have_equal_loops(flow, source.loops[level], sink.loops[level])) {
      break;
    }
  }
  return level;
}

/// Where a value is written and read in one iteration of the `together` outermost loops: do all
/// other values of its element belong to other iterations, which come wholly before or after it, or
/// to what stands before or behind both in it? Then check_overwrite, which looks at three instances
/// at a time, need not be asked.
bool LegalityChecker::outside(const Statement &writer, const Statement &source,
                              const Statement &sink, size_t together) const {
  const auto is_concurrent_at = [&](size_t level) {
    return is_concurrent(writer.tags[level]) || is_concurrent(source.tags[level]) ||
           is_concurrent(sink.tags[level]);
  };
  const auto stands_apart = [&](size_t level) {
    const auto [first, last] = std::minmax(source.order[level], sink.order[level]);
    return writer.order[level] < first || writer.order[level] > last;
  };
  // The order of statements answers for most, without isl.
  size_t shared = 0;
  while (shared < together && source.order[shared] == writer.order[shared] &&
         !is_concurrent_at(shared)) {
    ++shared;
  }
  if (stands_apart(shared)) {
    return true;
  }
  isl::map others = other_writes(source, writer);
  for (size_t level = 0; level <= together; ++level) {
    if (checked(others.is_empty(), "writes to one element")) {
      return true;
    }
    if (source.order[level] != writer.order[level]) {
      return stands_apart(level);
    }
    if (level == together) {
      break;
    }
    if (is_concurrent_at(level) &&
        !have_equal_loops(others, writer.loops[level], source.loops[level])) {
      return false;
    }
    others = with_equal_loops(others, writer.loops[level], source.loops[level]);
  }
  return false;
}

/// instance -> the next one that writes its element, for a statement that writes the values of each
/// element in the order of its instances; nothing for others.
const std::optional<isl::map> &LegalityChecker::next_writes(const Statement &statement) const {
  const auto [known, is_new] = next_writes_.try_emplace(&statement);
  if (is_new && statement.role == StatementRole::Value && statement.replicas == 0) {
    const isl::map ascending = isl::map::lex_lt(statement.domain.space());
    const isl::map &others = other_writes(statement, statement);
    if (not_before(program_, statement, statement, others.intersect(ascending)).empty()) {
      known->second =
          checked(others.reverse().intersect(ascending).lexmin(), "writes to one element");
    }
  }
  return known->second;
}

/// Does each reader come before the next write to the element of its source? All later ones come
/// after that one, so check_overwrite need not be asked about the source's own statement.
bool LegalityChecker::read_before_next_write(const Statement &source, const Statement &sink,
                                             const isl::map &flow) const {
  // "Before" is transitive where the same loops are concurrent for both.
  for (size_t level = 0;
       level < static_cast<size_t>(program_.depth) && source.order[level] == sink.order[level];
       ++level) {
    if (is_concurrent(source.tags[level]) != is_concurrent(sink.tags[level])) {
      return false;
    }
  }
  const std::optional<isl::map> &next = next_writes(source);
  if (!next) {
    return false;
  }
  isl::map pairs = flow.reverse().apply_range(*next);
  if (&sink == &source) {
    // An instance reads before it writes.
    pairs = pairs.subtract(isl::map::identity(pairs.space()));
  }
  return not_before(program_, sink, source, checked(pairs, "writes to one element")).empty();
}

/// The element that each instance writes.
const isl::map &LegalityChecker::written(const Statement &statement) const {
  const auto [known, is_new] = written_.try_emplace(&statement);
  if (is_new) {
    known->second = written_element(program_, statement);
  }
  return known->second;
}

/// Writes of other values to the element of `source`: writer -> source.
const isl::map &LegalityChecker::other_writes(const Statement &source,
                                              const Statement &writer) const {
  const auto [known, is_new] = other_writes_.try_emplace({&source, &writer});
  if (!is_new) {
    return known->second;
  }
  const isl::map here = written(source);
  const isl::map there = written(writer);
  isl::map pairs = there.apply_range(here.reverse());
  if (source.computation == writer.computation) {
    isl::map same = defined_value(writer).apply_range(defined_value(source).reverse());
    if (source.role != StatementRole::Value) {
      same = same_replica(same, source.anew);
    }
    pairs = pairs.subtract(same);
  }
  if (source.predicate || writer.predicate) {
    for (const auto &[promise, value] : source.independent) {
      const auto other = writer.independent.find(promise);
      const bool of_memory = promise % 2 == 1; // (promise_commands.cpp)
      if (of_memory && other != writer.independent.end()) {
        pairs = pairs.intersect(isl::manage(isl_pw_aff_eq_map(other->second.copy(), value.copy())));
      }
    }
  }
  known->second = checked(pairs, "writes to one element");
  return known->second;
}

/// Those of them that do not come before the source.
const std::vector<UnorderedPairs> &LegalityChecker::not_earlier(const Statement &source,
                                                                const Statement &writer) const {
  const auto [known, is_new] = not_earlier_.try_emplace({&source, &writer});
  if (is_new) {
    known->second = not_before(program_, writer, source, other_writes(source, writer));
  }
  return known->second;
}

void LegalityChecker::check_overwrite(const Statement &source, const Statement &sink,
                                      const Statement &writer, const isl::map &flow,
                                      const std::string &doubt) {
  for (const UnorderedPairs &later : not_earlier(source, writer)) {
    isl::map between = flow.reverse().apply_range(later.pairs.reverse());
    if (&writer == &sink) {
      // An instance reads before it writes.
      between = between.subtract(isl::map::identity(between.space()));
    }
    for (const UnorderedPairs &not_later : not_before(program_, sink, writer, between)) {
      report(doubt.empty() ? Violation::Kind::Overwrite : Violation::Kind::Undecided, sink, writer,
             not_later.pairs,
             writer.name + " overwrites an element that " + sink.name +
                 " still has to read (written by " + source.name + ")" + doubt +
                 (not_later.concurrent || later.concurrent
                      ? ": the loops that run them are not ordered"
                      : ""));
      add_element(writer, true);
      return;
    }
  }
}

} // namespace tilewright
