// A scheduled program as sets and relations: which instances its statements have, when they run,
// which elements of memory they read and write, and which pairs of them depend on each other
// because they share an element. What follows from values, not from memory, is in legality.h
// (flow_dependences).
#pragma once

#include "mapping/program.h"

#include <string>
#include <vector>

namespace tilewright {

struct ProgramRelations {
  isl::union_set instances;
  isl::union_map reads;    ///< instance -> element
  isl::union_map writes;   ///< instance -> element
  isl::union_map schedule; ///< instance -> time
};

/// Of the statements of one computation; of all, where it has no name.
ProgramRelations program_relations(const Program &program, const std::string &computation);

/// The pairs of instances that share elements of one buffer, the earlier one first, in the order of
/// the times, whether or not loops are parallel.
struct StorageDependences {
  std::string buffer;
  isl::union_map anti;   ///< read, then written
  isl::union_map output; ///< written twice
  isl::union_map input;  ///< read twice
};

/// Of each buffer that has some.
std::vector<StorageDependences> storage_dependences(const Program &program);

/// The pairs of two statements' instances of which the second one overwrites what the first one
/// reads or writes.
struct Overwriting {
  const Statement *first;
  const Statement *second;
  isl::map pairs;
};

/// Of all statements, in the order of the times.
std::vector<Overwriting> overwriting_pairs(const Program &program);

} // namespace tilewright
