// What conditions on data say of the expressions in their branches: in select(d[n] < 8, x[d[n]], 0)
// the subscript is below 8.
#pragma once

#include "algorithm/affine.h"

#include <utility>
#include <vector>

namespace tilewright {

/// A condition that is known to hold, or not to hold, where an expression is computed.
struct Fact {
  ExprPtr condition;
  bool holds = true;
};

/// Two facts of which one holds, or both.
using Alternatives = std::pair<Fact, Fact>;

/// Adds the comparisons that a fact says, and those of which it says that one holds or another.
void comparisons_of(const Fact &fact, std::vector<Fact> &found,
                    std::vector<Alternatives> *alternatives = nullptr);

/// "expr op other - added" of what a comparison says; Op::None if it says nothing of the
/// expression.
struct Told {
  Op op = Op::None;
  ExprPtr other;
  std::vector<std::pair<ExprPtr, bool>> added; ///< affine ones, and whether they are subtracted
};

/// `within_sums`: whether the expression may stand in a sum with affine ones, which says something
/// of it only if the sum does not wrap around.
Told told_of(const ExprPtr &expr, const Fact &comparison, const IterationSpace &space,
             bool within_sums);

} // namespace tilewright
