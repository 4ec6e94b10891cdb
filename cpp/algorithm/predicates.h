// The conditions of a reduction that read data, one after the other: each is asked (and what it
// reads is read) only where those before it hold, as by Python's `and`. So ranges nested in data
// nest in meaning, too: with {p: (row[i], row[i + 1]), q: (start[col[p]], start[col[p] + 1])},
// col[p] is a subscript only where p is in row i.
#pragma once

#include "algorithm/expression.h"

#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// The parts of a conjunction in order; none for null.
std::vector<ExprPtr> conjuncts_of(const ExprPtr &condition);

/// The iterators that a condition compares with something else, as n in `n == to[e]`: of these
/// there is one value at most for each value of the others. None for null.
std::set<std::string> compared_iterators(const ExprPtr &condition);

} // namespace tilewright
