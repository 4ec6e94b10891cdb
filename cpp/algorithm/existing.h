// Elements that data decide about: of a computation whose domain is bounded by data, or that is
// restricted by where= without otherwise=, an element exists where its conditions hold. Its domain
// is the affine set that encloses them (Benabderrahmane et al., "The polyhedral model is more
// widely applicable than you think"), and its value is select(condition, value, nothing). Analysis
// takes all of the domain; a statement runs where the conditions hold; who reads an element must
// stand under conditions that imply its own, which is proved with what is read from data as
// unknowns.
//     val2[i, p] for row[i] <= p < row[i + 1];  y[i] = sum(val2[i, p] for p in row[i] .. row[i +
//     1])
#pragma once

#include "algorithm/function.h"

#include <vector>

namespace tilewright {

/// The value of what does not exist: a constant that no reader may ask for.
ExprPtr nothing(ScalarType type);
bool is_nothing(const Expr &value);

/// `value` where all conditions hold, each asked where those before it do, and nothing elsewhere.
ExprPtr where_exists(const std::vector<ExprPtr> &conditions, const ExprPtr &value);

/// A value and the conditions in order under which it exists (none: always).
struct ExistingValue {
  ExprPtr condition; ///< their conjunction, or null
  ExprPtr value;
};
ExistingValue existing_value(const ExprPtr &value);

/// Throws Error(Declaration) where an output has elements that data leave out, or where a read of
/// such an element does not stand under its conditions.
void check_existing(const Function &function);

} // namespace tilewright
