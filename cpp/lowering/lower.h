// From the scheduled program to the loop IR: isl generates the loops (isl AST), we translate them
// and the statements' expressions, then run the loop passes of passes/road.h.
#pragma once

#include "loops/instrumentation.h"
#include "loops/loop_ir.h"
#include "mapping/program.h"
#include "passes/road.h"

#include <string>
#include <vector>

namespace tilewright {

struct LoweringOptions {
  /// For each argument buffer (inputs, then outputs, in program order). Where one is missing, the
  /// last dimension is the unit one.
  std::vector<ArrayLayout> layouts;
  VectorOptions vectors;   ///< of the target
  bool vectorize = true;   ///< false keeps Vector loops as loops, for printing what a schedule says
  bool for_source = false; ///< without `vectorize`: the loops become C, see PassOptions
  Instrumentation instrumentation = {};
  bool gpu = false; ///< loops over blocks and threads make launches; else they run on the CPU
  bool asynchronous_copies = false; ///< of global to shared memory, which that GPU has
  PassObserver observer = {};       ///< told of "translate", then of each pass; may be empty
  bool verifies = false;            ///< after each pass
  size_t most_loops = 0; ///< statements of loops for one of the program; more are an Error(Limit)
  /// Without an observer: where a kernel that is to be compiled is dumped (pass_texts.h), and
  /// verified, after each pass; empty: nowhere.
  std::string dump_to = {};
};

Kernel lower(const Program &program, const LoweringOptions &options);

} // namespace tilewright
