// From the scheduled program to the loop IR: isl generates the loops (isl AST), we translate them
// and the statements' expressions, then run the loop passes in the order listed in lower.cpp.
#pragma once

#include "lowering/loop_ir.h"
#include "mapping/program.h"

#include <vector>

namespace tilewright {

struct LoweringOptions {
  /// For each argument buffer (inputs, then outputs, in program order): the dimension known to have
  /// the stride of one item, or -1. Missing entries mean "the last dimension".
  std::vector<int> unit_dimensions;
  bool vectorize = true; ///< false keeps Vector loops as loops, for printing what a schedule says
};

Kernel lower(const Program &program, const LoweringOptions &options);

} // namespace tilewright
