// How much a part of a scheduled program does at given sizes: operations, bytes of all accesses,
// and bytes of the distinct elements, counted over isl's sets of instances. Nothing is run.
#pragma once

#include "mapping/program.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

struct WorkCounts {
  std::int64_t instances = 0;
  /// Additions, subtractions, multiplications, divisions, minima, maxima and elementary functions
  /// on floating-point numbers, one each; of complex numbers by their parts (+ 2, * 6, / 11).
  std::int64_t flops = 0;
  std::int64_t integer_operations = 0; ///< the same on integers, index arithmetic left out
  std::int64_t loaded = 0;             ///< bytes of all reads
  std::int64_t stored = 0;             ///< bytes of all writes
  /// Bytes of distinct elements: those read that come from elsewhere, and those written to arrays
  /// that outlive the part.
  std::int64_t read = 0;
  std::int64_t written = 0;
  bool is_exact = true; ///< false: at most so much, since data decide
  bool is_known = true; ///< false: too large to count
};

/// Throws Error(Limit) when isl needs too many operations.
WorkCounts count_work(const Program &program, const std::vector<const Statement *> &part,
                      const std::map<std::string, std::int64_t> &parameters);

} // namespace tilewright
