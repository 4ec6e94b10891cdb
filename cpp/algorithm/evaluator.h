// The first oracle: computes any declared function on concrete arrays without a schedule, by
// demand, each instance once (memoised), iteratively (a million-step recurrence does not overflow a
// stack). It shares no code with scheduling or code generation, follows NumPy's scalar semantics,
// and reports an instance that needs its own value with the point.
#pragma once

#include "algorithm/function.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// A strided view of memory; strides in bytes, data of the element at index 0.
struct ArrayView {
  void *data = nullptr;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
};

/// Fills `outputs` (by computation name; instances in the domain are written, others left alone)
/// from `inputs` for the given parameter values. Throws Error(Cycle) naming the point, Error(Index)
/// for an indirect read outside its array.
void evaluate(const Function &function, const std::map<std::string, std::int64_t> &parameters,
              const std::map<std::string, ArrayView> &inputs,
              const std::map<std::string, ArrayView> &outputs);

/// A read outside its array, for messages about a kernel that met one.
struct FailingRead {
  std::string instance; ///< "y[1]"
  std::string read;     ///< "x[5]"
};

/// The first such read in the order of the outputs' elements, or nothing where there is none or
/// where finding it takes more than a fraction of a second.
std::optional<FailingRead> find_failing_read(const Function &function,
                                             const std::map<std::string, std::int64_t> &parameters,
                                             const std::map<std::string, ArrayView> &inputs);

} // namespace tilewright
