// The order that a schedule guarantees between instances: x comes before y when their times differ
// first at a static position or at a sequential loop, and are smaller there. Two iterations of a
// parallel or vector loop are not ordered.
#pragma once

#include "mapping/program.h"

#include <vector>

namespace tilewright {

/// The value of a loop that is one number: a place between other loops, as a whole order by
/// set_schedule has them, or padding.
std::optional<std::int64_t> place_of(const isl::pw_aff &loop);

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

/// Whether the times of some of `pairs` (first -> second) differ first at one of the loops
/// `levels`, which ascend. `forward`: only those count of which the first one has the smaller time.
bool differ_first_at(const std::vector<size_t> &levels, const Statement &first,
                     const Statement &second, isl::map pairs, bool forward = false);

/// The pairs (of instances that compute_at replicates) that belong to one iteration of the shared
/// loops.
isl::map same_replica(isl::map pairs, size_t replicas);

} // namespace tilewright
