// Which elements of its producers each instance of a computation reads, as relations of Layer I,
// before anything is scheduled: what rates and delays of streams are taken from (Leben and
// Tzanetakis, ACM TACO 16(3), 2019, section 3).
#pragma once

#include "algorithm/function.h"

#include <vector>

namespace tilewright {

/// One read: { reader[i] -> producer[e] }, whatever is reduced over projected out. A subscript that
/// is not affine may be any coordinate that possible_values leaves: the relation holds more pairs
/// then, and `exact` is false.
struct ReadRelation {
  ComputationPtr producer;
  isl::map elements;
  bool exact = true;
};

/// Those of all pieces, each expression's once.
std::vector<ReadRelation> read_relations(const Computation &reader);

/// The same of each term that reductions add up: { reader[i, reduced iterators] -> producer[e] }.
std::vector<ReadRelation> read_instances(const Computation &reader);

} // namespace tilewright
