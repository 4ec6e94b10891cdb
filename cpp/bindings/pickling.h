// Declarations as plain Python values and back, for pickle: numbers, texts and tuples only, flat,
// so that no depth of a program is too much. Nothing is checked again when a declaration comes
// back, as it was checked when it was made; schedules are replayed, and so proved, by the caller.
#pragma once

#include "algorithm/function.h"

#include <pybind11/pybind11.h>

#include <memory>
#include <vector>

namespace tilewright {

/// The computations and expressions with all that they read.
pybind11::tuple packed(const std::vector<ComputationPtr> &computations,
                       const std::vector<ExprPtr> &expressions);

/// What `packed` was given, made anew. Throws Error(Argument) for what is not of this version.
struct Unpacked {
  std::vector<ComputationPtr> computations;
  std::vector<ExprPtr> expressions;
};
Unpacked unpacked(const pybind11::tuple &state);

pybind11::tuple packed_function(const Function &function);
std::shared_ptr<const Function> unpacked_function(const pybind11::tuple &state);

void bind_pickling(pybind11::module_ &module);

} // namespace tilewright
