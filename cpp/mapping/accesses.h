// What each statement reads and writes, as isl relations. Affine reads are exact, restricted to
// where they happen (reduction bounds, affine conditions of a select); a read whose subscript is
// not affine may touch every element along that dimension and is marked inexact.
#pragma once

#include "mapping/program.h"

#include <vector>

namespace tilewright {

struct ReadAccess {
  ComputationPtr producer;
  isl::map relation; ///< statement instance -> producer[iterators]
  bool exact = true;
  bool certain = true;  ///< false: whether it happens depends on data (select, the body of a while)
  SourceLocation where; ///< of the read in the user's program
};

/// All but those of what a reduction's terms came to (StatementRole::Finish).
std::vector<ReadAccess> read_accesses(const Statement &statement);

/// The instances that can be computed: those that surely read an array at a computed subscript are
/// left out where the array has no element, whatever the data are.
isl::set possible_instances(const Statement &statement);

/// statement instance -> computation[iterators]: the value that it defines or helps to define.
isl::map defined_value(const Statement &statement);

/// source instance -> sink instance for `read` (sink instance -> computation of the source). A
/// reader takes the value of the replica (compute_at) in its own iteration of the shared loops.
isl::map flow_relation(const Statement &source, const Statement &sink, const isl::map &read);

/// Whether a parallel or vector loop runs updates of one element in several of its iterations: it
/// is driven by reduced iterators, in which alone they differ.
bool terms_may_meet(const Statement &update);

/// The same relation with range dimension `dimension` taken modulo `size`.
isl::map folded(const isl::map &places, unsigned dimension, std::int64_t size);

/// statement instance -> buffer[index].
isl::map written_element(const Program &program, const Statement &statement);

} // namespace tilewright
