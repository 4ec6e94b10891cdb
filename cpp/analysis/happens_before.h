// The order that a schedule guarantees between instances: x comes before y when their times differ
// first at a static position or at a sequential loop, and are smaller there. Two iterations of a
// parallel or vector loop are not ordered.
#pragma once

#include "mapping/program.h"

#include <vector>

namespace tilewright {

/// Pairs that are not ordered as wanted, by where their times first differ.
struct UnorderedPairs {
  isl::map pairs;          ///< source instance -> sink instance
  int level = 0;           ///< the loop, or depth for instances at one and the same time
  bool is_static = false;  ///< the static position before loop `level`
  bool concurrent = false; ///< the loop is parallel or vector: not ordered at all
};

/// The part of `pairs` (source -> sink) in which source does not come before sink. Empty parts are
/// left out.
std::vector<UnorderedPairs> not_before(const Program &program, const Statement &source,
                                       const Statement &sink, isl::map pairs);

} // namespace tilewright
