#include "loops/build.h"
#include "passes/scalars_to_locals.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::test {
namespace {

/// Y (an argument) of N float64, and scalars of the kernel's own: a, b.
struct Scalars {
  Kernel kernel;
  ValuePtr n = parameter_value(0, "N");
  std::shared_ptr<const Variable> i = variable(1, "i");

  Scalars() {
    kernel.name = "scalars";
    kernel.parameters = {"N"};
    for (const std::string name : {"Y", "a", "b"}) {
      KernelBuffer buffer;
      buffer.name = name;
      buffer.type = Float64;
      buffer.is_argument = name == "Y";
      buffer.is_written = true;
      if (buffer.is_argument) {
        buffer.extents = {n};
        buffer.layout.unit = 0;
      }
      kernel.buffers.push_back(std::move(buffer));
    }
  }

  static ValuePtr a() { return load(1, "a", {Float64, 1}, {}); }
  static ValuePtr b() { return load(2, "b", {Float64, 1}, {}); }
  ValuePtr y() const { return load(0, "Y", {Float64, 1}, {i}); }
  static StmtPtr set_a(const ValuePtr &value) { return store(1, "a", {}, value); }
  static StmtPtr set_b(const ValuePtr &value) { return store(2, "b", {}, value); }
  StmtPtr set_y(const ValuePtr &value) const { return store(0, "Y", {i}, value); }
  StmtPtr over_i(const StmtPtr &body, LoopKind kind = LoopKind::Serial) const {
    return for_loop(i->id, i->name, integer(0), n, kind, 0, body);
  }

  std::string after(const StmtPtr &body) {
    kernel.body = body;
    scalars_to_locals(kernel);
    return print_loop_ir(kernel);
  }
};

TEST(ScalarsToLocals, WhatIsSetInEachIterationAndWhatIsKept) {
  Scalars one;
  const ValuePtr larger = binary_value(Op::Gt, Scalars::a(), Scalars::b());
  EXPECT_EQ(one.after(block({one.over_i(block({Scalars::set_a(one.y()),
                                               if_then(larger, Scalars::set_b(Scalars::a()))})),
                             store(0, "Y", {integer(0)}, Scalars::b())})),
            "b_2 = 0.0\n"
            "for i in range(0, N):\n"
            "  a_2 = Y[i]\n"
            "  if a_2 > b_2:\n"
            "    b_2 = a_2\n"
            "Y[0] = b_2\n");
}

TEST(ScalarsToLocals, WhatIsSetAgainUnderACondition) {
  Scalars one;
  const ValuePtr zero = constant_of(0.0, Float64);
  const ValuePtr below = binary_value(Op::Lt, Scalars::a(), zero);
  EXPECT_EQ(
      one.after(one.over_i(block({Scalars::set_a(one.y()), if_then(below, Scalars::set_a(zero)),
                                  one.set_y(Scalars::a())}))),
      "b = empty((), float64)\n"
      "for i in range(0, N):\n"
      "  a_2 = Y[i]\n"
      "  if a_2 < 0.0:\n"
      "    a_2 = 0.0\n"
      "  Y[i] = a_2\n");
}

TEST(ScalarsToLocals, EachIterationOfThreadsHasItsOwn) {
  Scalars one;
  one.kernel.buffers[1].is_scoped = true;
  const StmtPtr body = block({Scalars::set_a(one.y()), one.set_y(Scalars::a())});
  EXPECT_EQ(one.after(one.over_i(allocate(1, "a", body), LoopKind::Parallel)),
            "b = empty((), float64)\n"
            "for i in range(0, N):  # parallel\n"
            "  a_2 = Y[i]\n"
            "  Y[i] = a_2\n");
}

TEST(ScalarsToLocals, WhatThreadsShareStaysInMemory) {
  Scalars one;
  const StmtPtr body = one.over_i(one.set_y(Scalars::a()), LoopKind::Parallel);
  EXPECT_EQ(one.after(block({Scalars::set_a(constant_of(1.0, Float64)), body})),
            "a = empty((), float64)\n"
            "b = empty((), float64)\n"
            "a[()] = 1.0\n"
            "for i in range(0, N):  # parallel\n"
            "  Y[i] = a[()]\n");
}

} // namespace
} // namespace tilewright::test
