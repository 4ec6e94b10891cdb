#include "analysis/write_order.h"

#include "analysis/happens_before.h"

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_write_order = "the order of writes to one element";

/// The pairs (first -> second) that write different values to one element.
isl::map writes_of_one_element(const Program &program, const Statement &first,
                               const Statement &second) {
  isl::map pairs =
      written_element(program, first).apply_range(written_element(program, second).reverse());
  if (first.computation == second.computation) {
    pairs = pairs.subtract(defined_value(first).apply_range(defined_value(second).reverse()));
  }
  return checked(pairs, doing_write_order);
}

} // namespace

bool writes_keep_order(const LegalProgram &one, const Program &other) {
  const auto there = [&](const Statement &statement) {
    return std::find_if(other.statements.begin(), other.statements.end(),
                        [&](const Statement &each) { return each.name == statement.name; });
  };
  for (const Statement &first : one.program.statements) {
    if (one.stored_apart[first.buffer]) {
      continue;
    }
    for (const Statement &second : one.program.statements) {
      if (second.buffer != first.buffer) {
        continue;
      }
      const auto first_there = there(first);
      const auto second_there = there(second);
      if (first.replicas > 0 || second.replicas > 0 || first_there == other.statements.end() ||
          second_there == other.statements.end()) {
        return false;
      }
      isl::map ordered = writes_of_one_element(one.program, first, second);
      for (const UnorderedPairs &others : not_before(one.program, first, second, ordered)) {
        ordered = ordered.subtract(others.pairs);
      }
      if (!not_before(other, *first_there, *second_there, checked(ordered, doing_write_order))
               .empty()) {
        return false;
      }
    }
  }
  return true;
}

} // namespace tilewright
