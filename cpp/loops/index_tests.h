// What passes ask of tests and bounds: comparisons, minima and maxima of index values as signs of
// linear forms, what known signs say about others, and the loops whose bodies are run most.
#pragma once

#include "loops/linear.h"

#include <optional>
#include <utility>
#include <vector>

namespace tilewright {

/// A comparison of index values?
bool is_index_test(const ValuePtr &value);

/// A comparison of index values: `distance` >= 0 or == 0, or the opposite of that.
struct IndexTest {
  Linear distance;
  bool equality = false;
  bool negated = false;
};
std::optional<IndexTest> index_test(const ValuePtr &value);

/// Linear forms that are known to be at least 0, and tests whose outcome is known.
class IndexFacts {
public:
  /// `test`, a comparison of index values, has this outcome.
  void add(const ValuePtr &test, bool outcome);
  /// The value where the facts decide it: a constant for a test, an operand of a minimum or
  /// maximum; null elsewhere.
  ValuePtr decide(const ValuePtr &value) const;
  /// `root` with all that they decide.
  StmtPtr apply(const StmtPtr &root) const;

private:
  bool is_at_least(const Linear &form, std::int64_t least) const;

  std::vector<Linear> not_negative_;
  std::vector<std::pair<ValuePtr, bool>> known_;
};

bool depends_on(const Linear &linear, std::int64_t variable);
/// The coefficient of a variable that is not hidden inside an atom; nothing where it is.
std::optional<std::int64_t> coefficient_of(const Linear &linear, std::int64_t variable);

/// Statements, copies of unrolled loops counted.
std::int64_t size_of(const StmtPtr &root);

/// A loop in which no other loop runs long: vector and unrolled loops, and short ones of constant
/// extent, are part of its body.
bool is_innermost(const For &loop);

} // namespace tilewright
