// Kernels that several tests of compiled code run.
#pragma once

#include "targets/kernel_runner.h"

#include <numeric>
#include <string>
#include <vector>

namespace tilewright {

inline constexpr ScalarType complex64{TypeKind::Complex, 64};
inline constexpr ScalarType int32{TypeKind::Int, 32};

inline ValuePtr f32(double value) { return constant_of(value, Float32); }

inline std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0F);
  return values;
}

inline ValuePtr add_f32(const ValuePtr &a, const ValuePtr &b) {
  return binary_value(Op::Add, a, b);
}
inline ValuePtr mul_f32(const ValuePtr &a, const ValuePtr &b) {
  return binary_value(Op::Mul, a, b);
}

inline size_t count_of(const std::string &text, const std::string &part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

/// out[i, j] = 2 * in[i, j] over N x M.
inline Kernel doubling(int lanes, int unit) {
  Kernel kernel;
  kernel.name = "doubling";
  kernel.parameters = {"N", "M"};
  kernel.buffers = {argument("in", Float32, 2, false, unit),
                    argument("out", Float32, 2, true, unit)};
  const ValuePtr i = variable(1, "i");
  const ValuePtr j = variable(2, "j");
  const ValuePtr column = lanes == 1 ? j : ramp(mul(j, integer(lanes)), 1, lanes);
  const ValuePtr value =
      mul_f32(load(0, "in", {Float32, lanes}, {i, column}), broadcast(f32(2), lanes));
  const StmtPtr row =
      for_loop(2, "j", integer(0), floor_div(parameter_value(1, "M"), integer(lanes)),
               LoopKind::Serial, 0, store(1, "out", {i, column}, value));
  kernel.body = for_loop(1, "i", integer(0), parameter_value(0, "N"), LoopKind::Serial, 0, row);
  return kernel;
}

} // namespace tilewright
