// Subscripts as sums: the shape in which addresses are computed. A subscript is split into a
// constant, terms with constant coefficients, and a step from lane to lane; anything else in it
// stays an opaque term, of all lanes or with one value for each of them.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <vector>

namespace tilewright {

struct SubscriptTerm {
  const Value *value; ///< int64
  std::int64_t coefficient;
};

struct SubscriptSum {
  std::vector<SubscriptTerm> terms;
  std::vector<SubscriptTerm> of_lanes; ///< whose values differ from lane to lane
  std::int64_t constant = 0;
  std::int64_t lane_step = 0;
  /// More than 1: so many lanes belong to one step of lane_step, and are inner_step apart.
  int inner = 1;
  std::int64_t inner_step = 0;
  bool regular = true; ///< false: the lanes follow no constant step, the sum means nothing
};

/// The same lanes as steps of two loops, the inner one of `inner` iterations; false where they are
/// those of another inner loop.
bool split_lanes(SubscriptSum &sum, int inner);

SubscriptSum split_subscript(const Value &subscript);

} // namespace tilewright
