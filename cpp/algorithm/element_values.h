// What the terms of a computation need of an element of an array, if that is more than the element:
// (A[i,k] - m[i]) of A in
//     C[i,j] = sum((A[i,k] - m[i]) * B[k,j] for k)
// It depends on the place of the element alone, so a copy of a part of A can hold it instead, and
// each reader finds it computed.
#pragma once

#include "algorithm/function.h"

#include <memory>
#include <string>
#include <vector>

namespace tilewright {

struct ElementValue {
  ExprPtr value;
  ExprPtr read;                       ///< of the element, in `value`
  std::vector<std::string> iterators; ///< its subscripts, one for each dimension of the array
};

/// The largest such parts, in the order in which they are written. Each has real floating-point
/// numbers, is computed whatever data and conditions on indices say, and uses no other iterators
/// than those by which an element in it is subscripted, each alone and once. A conversion between
/// floating-point types alone is none.
std::vector<ElementValue> element_values(const Computation &computation);

/// The same for elements of one array. If nothing is computed from them, the elements themselves,
/// each read for itself: A[i,k] and A[j,k] of sum(A[i,k] * A[j,k] for k).
std::vector<ElementValue> values_of(const Computation &computation, const std::string &array);

/// `reader` reads a new computation `copy` where it computed the first value of an element of
/// `array`: copy[i, k] = A[i, k] - m[i], for the elements of which it needs the value. Everything
/// else that it reads stays. Throws Error(Schedule) if there is no such value.
std::shared_ptr<const Function> copy_values(const Function &function, const std::string &reader,
                                            const std::string &array, const std::string &copy,
                                            const SourceLocation &where);

} // namespace tilewright
