// The instance at a point of a loop over blocks whose size is an expression in parameters
// (mapping/parametric_split.h). isl knows it case by case, one for each block; here it is one
// formula, of the block's number times a step, which vectors and bounds are better off with.
#pragma once

#include "mapping/program.h"
#include "polyhedral/isl.h"

#include <vector>

namespace tilewright {

/// Is a loop's value a constant in each of several cases? Then the loop is over the blocks of a
/// split by an expression in parameters.
bool is_by_case(const isl::pw_aff &value);

/// iterator = iterators[k] + (loop - first) * steps[k].
struct BlockInstances {
  size_t loop = 0; ///< of the statement
  std::int64_t first = 0;
  std::vector<isl::aff> iterators; ///< of the loops; empty: there is no such formula
  std::vector<isl::pw_aff> steps;  ///< of the parameters
};

/// A formula for `time`, instance -> loops of the statement, if one of them is by case.
BlockInstances block_instances(const Statement &statement, const isl::map &time);

} // namespace tilewright
