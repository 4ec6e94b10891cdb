// Functions for calls of which some sizes are known: what multiplies iterators by them is affine,
// so that A[i * n + j] is seen as what it is (delinearisation of PENCIL and PPCG, by known sizes).
#pragma once

#include "algorithm/function.h"

#include <cstdint>
#include <map>
#include <memory>
#include <string>

namespace tilewright {

/// A copy of the function for parameters of these values, of the same parameters and computations:
/// its context says them, and its expressions have them as numbers. Subscripts that become affine
/// so are no longer checked when they run. Pieces where some read is not sure to stay inside its
/// array then keep their expressions.
std::shared_ptr<const Function>
with_fixed_parameters(const Function &function, const std::map<std::string, std::int64_t> &values);

} // namespace tilewright
