// What the tests of passes over guarded loops share: a kernel whose body a test writes, run over
// all its loops before and after a pass.
#pragma once

#include "lowering/fixture.h"
#include "passes/simplify_indices.h"

#include <string>
#include <vector>

namespace tilewright::test {

/// Parameter N, inputs R (int32) and W (int64) of N elements, an output Y (int64) of N elements,
/// memory T (int64) of four elements that loops may have of their own. Programs run over all their
/// loops before and after the pass and must store the same.
class Guards : public testing::Test {
protected:
  Guards() {
    kernel.name = "guards";
    kernel.parameters = {"N"};
    array("R", Int32, false);
    array("W", Int64, false);
    array("Y", Int64, true);
    array("T", Int64, true);
    kernel.buffers.back().extents = {integer(4)};
    kernel.buffers.back().is_argument = false;
    kernel.buffers.back().is_scoped = true;
  }

  void array(const std::string &name, ScalarType type, bool is_written) {
    KernelBuffer buffer;
    buffer.name = name;
    buffer.type = type;
    buffer.is_written = is_written;
    buffer.extents = {n};
    buffer.layout.unit = 0;
    kernel.buffers.push_back(buffer);
  }

  static ValuePtr r(const ValuePtr &at) {
    return cast_value(load(0, "R", {Int32, 1}, {at}), Int64);
  }
  static ValuePtr w(const ValuePtr &at) { return load(1, "W", {Int64, 1}, {at}); }
  static StmtPtr y(const ValuePtr &at, const ValuePtr &value) { return store(2, "Y", {at}, value); }
  static ValuePtr t(const ValuePtr &at) { return load(3, "T", {Int64, 1}, {at}); }
  static StmtPtr fill(const ValuePtr &at, const ValuePtr &value) {
    return store(3, "T", {at}, value);
  }
  static ValuePtr le(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Le, a, b); }
  static ValuePtr lt(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Lt, a, b); }
  static StmtPtr loop(const ValuePtr &counter, const ValuePtr &upper, const StmtPtr &body) {
    const auto &own = cast<Variable>(counter);
    return for_loop(own.id, own.name, integer(0), upper, LoopKind::Serial, 0, body);
  }

  std::vector<std::int64_t> stored(const StmtPtr &body, std::int64_t size,
                                   const std::vector<std::int64_t> &data, int *site) {
    Kernel run = kernel;
    run.body = body;
    verify_kernel(run);
    Interpreter interpreter(run, {size});
    for (std::int64_t e = 0; e < size; ++e) {
      for (size_t b = 0; b < 2; ++b) {
        interpreter.memory.data[b][static_cast<size_t>(e)] = {
            data[static_cast<size_t>(e) % data.size()], 0};
      }
      interpreter.memory.data[2][static_cast<size_t>(e)] = {0, 0};
    }
    *site = interpreter.run();
    std::vector<std::int64_t> values;
    for (const Number &number : interpreter.memory.data[2]) {
      values.push_back(number.i);
    }
    return values;
  }

  /// The printed loops with this body, whose stores and failures agree with those of `before`.
  std::string printed(const StmtPtr &body, const StmtPtr &before) {
    const std::vector<std::vector<std::int64_t>> contents = {
        {0, 2, 2, 5, 1, 7, 3}, {-4, 9, 1, 1}, {3}, {INT64_MIN, INT64_MAX, 2}};
    for (std::int64_t size = 0; size < 9; ++size) {
      for (const std::vector<std::int64_t> &data : contents) {
        int expected_site = -1;
        int site = -1;
        const auto expected = stored(before, size, data, &expected_site);
        EXPECT_EQ(stored(body, size, data, &site), expected) << "N = " << size;
        EXPECT_EQ(site, expected_site) << "N = " << size;
      }
    }
    kernel.body = body;
    return print_loop_ir(kernel);
  }

  Kernel kernel;
  Ranges known;
  ValuePtr n = parameter_value(0, "N");
  ValuePtr i = variable(1, "i");
  ValuePtr p = variable(2, "p");
  ValuePtr q = variable(3, "q");
};

} // namespace tilewright::test
