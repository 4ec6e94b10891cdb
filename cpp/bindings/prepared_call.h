// Calls of one function that are alike but for a few arrays, such as the chunks and results of a
// stream: all other arguments are bound once, so that such a call costs little more than its
// kernel.
#pragma once

#include "bindings/call_plan.h"

#include <llvm/ADT/SmallVector.h>
#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace tilewright {

class KernelFunction;

struct PreparedCall {
  /// One of the few arrays.
  struct Changing {
    size_t argument = 0;
    size_t value = 0;                 ///< its place in `values`; of outputs in the tuple of them
    std::vector<std::int64_t> layout; ///< shape and strides of the latest
  };

  pybind11::object function;
  KernelFunction *kernel = nullptr;     ///< in it
  std::vector<pybind11::object> values; ///< the inputs, then what `names` names
  pybind11::tuple names;                ///< of parameters, then "out"
  size_t positional = 0;
  pybind11::tuple outputs;        ///< those that stay, behind those that change
  std::vector<Changing> changing; ///< inputs, then the first outputs

  // What calls have in common: none before the first one.
  std::shared_ptr<CallPlan> plan;
  std::uint64_t version = 0; ///< of the schedule
  llvm::SmallVector<void *, 16> data;
};

/// ``prepare_call(function, arguments, changing, outputs)``: a callable that takes the inputs named
/// in `changing` and then outputs, and does what ``function(**arguments, **inputs,
/// out=(*given, *outputs))`` does, of whose results nothing is returned. The arrays in `arguments`
/// and `outputs` must stay where they are.
pybind11::object prepare_call(const pybind11::object &function, const pybind11::dict &arguments,
                              const std::vector<std::string> &changing,
                              const pybind11::tuple &outputs);

} // namespace tilewright
