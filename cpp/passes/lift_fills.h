// A copy that a loop's test reads (cache of the array whose elements bound the loop) is made once,
// before the loop, if all iterations would make the same one: then the test is one of data, as it
// was of the array itself, and bounds the loop (tighten_guards).
//     for p:                                 copy = empty(2)
//       copy = empty(2)                      copy[0] = row[i]; copy[1] = row[i + 1]
//       copy[0] = row[i]; ...                for p:
//       if copy[0] <= p < copy[1]: ...         if copy[0] <= p < copy[1]: ...
#pragma once

#include "loops/loop_ir.h"

#include <optional>
#include <vector>

namespace tilewright {

struct LiftedFill {
  StmtPtr memory;             ///< an Allocate: what the loop's body was
  std::vector<StmtPtr> fills; ///< before the loop
  StmtPtr rest;               ///< the new body
};

/// Nothing where the loop stays as it is.
std::optional<LiftedFill> lifted_fill(const For &loop);

} // namespace tilewright
