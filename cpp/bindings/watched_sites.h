// What a failed check (loops/instrumentation.h) says, in words: the instance, the access, the
// values read, and the line of the user's program.
#pragma once

#include "algorithm/function.h"
#include "loops/loop_ir.h"
#include "runtime/abi.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// Where the access or value of a site was written; not known where the function has changed.
SourceLocation location_of(const IndexSite &site, const Function &function);

/// The instance that met a check.
struct WatchedInstance {
  std::string element;                                         ///< "C[3, 5]"
  std::vector<std::pair<std::string, std::int64_t>> iterators; ///< all of them, by name
  std::string reduced;                                         ///< "k = 2", of the reduced ones
};
WatchedInstance instance_of(const IndexSite &site, const KernelFailure &failure);

/// The subscript that a check of `function`, as it is scheduled, found outside.
std::string subscript_text(const IndexSite &site, const KernelFailure &failure,
                           const Function &function);
/// " from -1 on" of an array that does not begin at 0.
std::string origin_text(const IndexSite &site, const Function &function);

} // namespace tilewright
