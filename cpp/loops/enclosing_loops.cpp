#include "loops/enclosing_loops.h"

#include "loops/index_tests.h"
#include "loops/traverse.h"

#include <algorithm>
#include <iterator>

namespace tilewright {

void EnclosingLoops::enter(const For &loop) {
  Interval interval{ranges_.of(loop.lower).lower, ranges_.of(loop.upper).upper};
  if (interval.upper) {
    interval.upper = *interval.upper - 1;
  }
  ranges_.variables[loop.id] = interval;
  std::vector<ValuePtr> ends;
  operands_of(Op::Min, loop.upper, ends);
  std::vector<Linear> &lasts = last_[loop.id];
  lasts.clear();
  for (const ValuePtr &end : ends) {
    if (auto last = is_index(end) ? linear_of(end) : std::nullopt) {
      last->constant -= 1;
      lasts.push_back(std::move(*last));
    }
  }
}

void EnclosingLoops::leave(const For &loop) {
  ranges_.variables.erase(loop.id);
  last_.erase(loop.id);
}

EnclosingLoops::Known EnclosingLoops::assume(const ValuePtr &test) {
  Known before{ranges_, tests_.size()};
  ranges_.assume(test);
  std::vector<ValuePtr> conjuncts;
  operands_of(Op::And, test, conjuncts);
  std::copy_if(conjuncts.begin(), conjuncts.end(), std::back_inserter(tests_), is_index_test);
  return before;
}

void EnclosingLoops::forget(Known before) {
  ranges_ = std::move(before.ranges);
  tests_.resize(before.tests);
}

bool EnclosingLoops::is_positive(const Linear &value, int depth) const {
  const Interval interval = ranges_.of(value);
  if (interval.lower && *interval.lower > 0) {
    return true;
  }
  if (depth == 0) {
    return false;
  }
  for (size_t t = 0; t < value.terms.size(); ++t) {
    const auto &[atom, coefficient] = value.terms[t];
    Linear rest = value;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(t));
    if (const auto *extremum = as<Binary>(atom);
        extremum != nullptr && (extremum->op == Op::Max || extremum->op == Op::Min)) {
      const auto with = [&](const ValuePtr &operand) {
        const auto linear = linear_of(operand);
        const auto sum = linear ? combine(rest, *linear, coefficient) : std::nullopt;
        return sum && is_positive(*sum, depth - 1);
      };
      // A maximum is at least either of its operands.
      const bool either = (extremum->op == Op::Max) == (coefficient > 0);
      if (either ? with(extremum->left()) || with(extremum->right())
                 : with(extremum->left()) && with(extremum->right())) {
        return true;
      }
    }
    if (coefficient >= 0) {
      continue;
    }
    if (const auto *variable = as<Variable>(atom);
        variable != nullptr && last_.contains(variable->id)) {
      for (const Linear &last : last_.at(variable->id)) {
        const auto least = combine(rest, last, coefficient);
        if (least && is_positive(*least, depth - 1)) {
          return true;
        }
      }
    }
    if (const auto *division = as_binary(atom, Op::FloorDiv)) {
      const auto divisor = as_integer(division->right());
      const auto dividend = linear_of(division->left());
      if (divisor && *divisor > 0 && coefficient % *divisor == 0 && dividend) {
        const auto least = combine(rest, *dividend, coefficient / *divisor);
        if (least && is_positive(*least, depth - 1)) {
          return true;
        }
      }
    }
  }
  return false;
}

bool EnclosingLoops::holds(const ValuePtr &condition) const {
  if (!is_index_test(condition)) {
    return false;
  }
  if (std::any_of(tests_.begin(), tests_.end(),
                  [&](const ValuePtr &test) { return same_value(test, condition); })) {
    return true;
  }
  const auto *less = as_binary(condition, Op::Lt);
  if (less == nullptr) {
    return false;
  }
  std::vector<ValuePtr> small;
  std::vector<ValuePtr> large;
  operands_of(Op::Max, less->left(), small);
  operands_of(Op::Min, less->right(), large);
  return std::all_of(small.begin(), small.end(), [&](const ValuePtr &a) {
    return std::all_of(large.begin(), large.end(), [&](const ValuePtr &b) {
      const auto left = linear_of(a);
      const auto right = linear_of(b);
      const auto distance = left && right ? combine(*right, *left, -1) : std::nullopt;
      return distance && is_positive(*distance);
    });
  });
}

} // namespace tilewright
