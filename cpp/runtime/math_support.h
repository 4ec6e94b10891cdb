// The few functions that compiled code needs and no system library has under a simple calling
// convention: complex elementary functions through memory, integer powers, and conversions to and
// from float16 for CPUs without them.
#pragma once

#include <vector>

namespace tilewright {

struct SupportFunction {
  const char *name;
  void *address;
};

/// "tilewright_complex64_exp"(float *x): x[0..1] in (x[2..3] too for pow), result in x[0..1];
/// likewise complex128, and the other functions by their names in layers. Integer powers, modulo
/// 2^64: "tilewright_power_signed"(base, exponent) and "tilewright_power_unsigned".
const std::vector<SupportFunction> &support_functions();

} // namespace tilewright
