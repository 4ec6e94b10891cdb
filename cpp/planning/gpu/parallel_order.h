// The order of a whole program in which its outermost loops are parallel, where there are such:
// what isl's scheduler makes of all that has to come in some order.
#pragma once

#include "mapping/program.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// One dimension of the common time.
struct OrderLevel {
  isl::pw_aff value;       ///< of the instances of the computation
  bool is_place = false;   ///< a number before, between or behind loops
  bool coincident = false; ///< its iterations need nothing of each other, but for loops around it
  int band = -1;           ///< of which band of interchangeable loops it is
};

using ParallelOrder = std::map<std::string, std::vector<OrderLevel>>; ///< by computation

/// The order for all computations that have statements. Nothing where isl finds none within
/// `operations`.
std::optional<ParallelOrder> parallel_order(const Program &program, std::uint64_t operations);

} // namespace tilewright
