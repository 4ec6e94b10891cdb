// Which parameters are sizes: they bound domains, arrays and subscripts, or take part in arithmetic
// on indices. Sets of integers know no largest number, but loops and addresses count in 64 bits;
// sizes of at most largest_size_parameter, with the coefficients that lowering allows
// (passes/loop_ranges.h), never leave them. A call with a larger one is refused. A parameter that
// only meets data is a number like any other, and may be any of 64 bits.
#pragma once

#include "algorithm/function.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

inline constexpr std::int64_t largest_size_parameter = std::int64_t{1} << 40;

struct SizeParameter {
  size_t position = 0; ///< in Function::parameters
  /// An extent or a bound of a reduction in which it occurs beside other things, if there is one.
  ExprPtr bound;
};

/// In the order of the function's parameters.
std::vector<SizeParameter> size_parameters(const Function &function);

} // namespace tilewright
