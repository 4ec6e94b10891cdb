// What tests of the loop IR and of single passes share: a kernel of two arrays whose body a test
// writes.
#pragma once

#include "loops/build.h"
#include "loops/verify.h"

#include <string>

namespace tilewright::test {

/// An array of `extent` elements; all but X are written.
inline KernelBuffer argument(const std::string &name, ScalarType type, const ValuePtr &extent) {
  KernelBuffer buffer;
  buffer.name = name;
  buffer.type = type;
  buffer.is_written = name != "X";
  buffer.extents = {extent};
  buffer.layout.unit = 0;
  return buffer;
}

/// A kernel with parameter N, an input X and an output Y of N float64 elements.
struct Line {
  Kernel kernel;
  ValuePtr n = parameter_value(0, "N");

  Line() {
    kernel.name = "line";
    kernel.parameters = {"N"};
    kernel.buffers = {argument("X", Float64, n), argument("Y", Float64, n)};
  }

  static ValuePtr x(const ValuePtr &at) { return load(0, "X", {Float64, 1}, {at}); }
  static StmtPtr y(const ValuePtr &at, const ValuePtr &value) { return store(1, "Y", {at}, value); }

  std::string printed() {
    verify_kernel(kernel);
    return print_loop_ir(kernel);
  }
};

} // namespace tilewright::test
