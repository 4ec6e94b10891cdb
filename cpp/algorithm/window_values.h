// Values that are computed for each element of a small window around each result, as exp(x[i + r] -
// x[i]) for r < 5. Those of one r lie side by side, those of one i are too few for vectors: where
// such values are kept, the iterator of the results comes last.
#pragma once

#include "algorithm/expression.h"
#include "polyhedral/isl.h"

#include <cstddef>
#include <string>
#include <vector>

namespace tilewright {

/// Is `part` such a value? Of its `iterators`, the first `of_results` (at least one) are those of
/// results; `values`: of which ones it is computed.
bool is_of_windows(const ExprPtr &part, const std::vector<std::string> &iterators,
                   size_t of_results, const isl::set &values);

/// The same set with one dimension moved behind all others.
isl::set with_last(const isl::set &set, unsigned dimension);

} // namespace tilewright
