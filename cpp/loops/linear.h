// Index arithmetic: values as sums of multiples of atoms, and the intervals in which they are known
// to lie. What the simplifier and the tile separation reason with. Only index values take part
// (variables, parameters and arithmetic on them): they are small enough for int64 arithmetic on
// them not to wrap, which loaded data is not.
#pragma once

#include "loops/build.h"

#include <map>
#include <optional>
#include <vector>

namespace tilewright {

/// sum of coefficient * atom, plus a constant. Atoms are index values that are no sums.
struct Linear {
  struct Term {
    ValuePtr atom;
    std::int64_t coefficient;
  };
  std::vector<Term> terms;
  std::int64_t constant = 0;

  bool is_constant() const { return terms.empty(); }
};

/// Whether arithmetic on variables and parameters of a usual size (2^40) may leave int64, as users'
/// may with large constants and products: it wraps around there, and is no index.
bool may_wrap(const Value &value);
bool may_wrap(Op op, const Value &a, const Value &b); ///< what `op` makes of them
/// int64 scalars made of constants, variables, parameters, + - * // % min max that do not wrap.
bool is_index(const ValuePtr &value);

/// The linear form of an index value; nothing when a coefficient would be too large to be an index.
std::optional<Linear> linear_of(const ValuePtr &value);
/// a + factor * b
std::optional<Linear> combine(const Linear &a, const Linear &b, std::int64_t factor);
ValuePtr value_of(const Linear &linear);
/// Whether two values are the same, or read the same element at subscripts that are written
/// differently.
bool same_element(const ValuePtr &a, const ValuePtr &b);
/// The same where a condition holds, which may say that subscripts are equal: A[0] and A[i] of
/// i == 0.
bool same_element_if(const ValuePtr &condition, const ValuePtr &a, const ValuePtr &b);

/// Inclusive bounds; nothing where there is none known.
struct Interval {
  std::optional<std::int64_t> lower;
  std::optional<std::int64_t> upper;
};

/// What is known of variables and parameters at one place of the program.
struct Ranges {
  std::map<std::int64_t, Interval> variables;  ///< by number
  std::map<std::int64_t, Interval> parameters; ///< by position

  Interval of(const ValuePtr &value) const;
  Interval of(const Linear &linear) const;
  /// Narrows what is known by a condition that holds: conjunctions of comparisons with one atom.
  void assume(const ValuePtr &condition);
};

} // namespace tilewright
