// Exact array dataflow: which instance wrote what a reference reads, for each of its instances;
// what is read from before the program; and which instances matter for what the program leaves
// (Feautrier, "Dataflow analysis of array and scalar references", IJPP 1991; with tagged accesses,
// kills and dead code as PPCG has them, PENCIL report, INRIA RT-0457, section 4). It needs a memory
// program; isl computes the flow, within an operation limit.
#pragma once

#include "algorithm/expression.h"
#include "dataflow/memory_program.h"

#include <map>
#include <string>
#include <vector>

namespace tilewright {

struct FlowSource {
  enum class Kind {
    Written, ///< by the instance `subscripts` of the statement `name`
    Initial, ///< element `subscripts` of the array `name`, from before the program
    Killed   ///< by nobody since it was killed: it has no value
  };
  Kind kind = Kind::Written;
  std::string name;
  isl::set readers;  ///< the part of the reading statement's domain of which this is said
  ExprPtr condition; ///< tells these from the other readers; null: all readers
  std::vector<ExprPtr> subscripts; ///< in terms of the reader's iterators
  bool is_certain = true; ///< else something may have been written there by a may-write, too
};

class Dataflow {
public:
  /// Throws Error(Limit) where isl would need too long.
  explicit Dataflow(const MemoryProgram &program);

  /// Disjoint in `readers`, as long as they are certain; those of a reference that is read. `free`:
  /// iterators of the reader for which data will stand. What a condition says of the others is said
  /// apart then, in front of it, so that it is seen whatever the data are.
  std::vector<FlowSource> sources(const std::string &reference,
                                  const std::vector<std::string> &free = {}) const;

  /// The instances that live statements need, directly or not, and themselves; possibly some more
  /// (affine hulls are taken so that the search ends).
  isl::union_set needed() const;
  /// The instances that nobody needs.
  isl::union_set dead() const;

private:
  struct Reader {
    const MemoryStatement *statement;
    const MemoryAccess *access;
    std::vector<isl::map> certain;  ///< { reader -> writer }
    std::vector<isl::map> possible; ///< beside these
    isl::set initial;
  };

  MemoryProgram program_;
  std::map<std::string, Reader> readers_;
};

} // namespace tilewright
