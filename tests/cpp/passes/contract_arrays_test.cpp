#include "loops/build.h"
#include "passes/contract_arrays.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::test {
namespace {

/// Y (an argument) and T (the kernel's own), arrays of N float64.
struct OneTemporary {
  Kernel kernel;
  ValuePtr n = parameter_value(0, "N");
  std::shared_ptr<const Variable> i = variable(1, "i");
  std::shared_ptr<const Variable> j = variable(2, "j");

  OneTemporary() {
    kernel.name = "one";
    kernel.parameters = {"N"};
    for (const bool is_argument : {true, false}) {
      KernelBuffer buffer;
      buffer.name = is_argument ? "Y" : "T";
      buffer.type = Float64;
      buffer.is_argument = is_argument;
      buffer.is_written = true;
      buffer.extents = {n};
      buffer.layout.unit = 0;
      kernel.buffers.push_back(std::move(buffer));
    }
  }

  static ValuePtr t(const ValuePtr &at) { return load(1, "T", {Float64, 1}, {at}); }
  StmtPtr set(const ValuePtr &at) const { return store(1, "T", {at}, cast_value(i, Float64)); }
  StmtPtr use(const ValuePtr &value) const { return store(0, "Y", {i}, value); }
  StmtPtr over_i(const StmtPtr &body, LoopKind kind = LoopKind::Parallel) const {
    return for_loop(i->id, i->name, integer(0), n, kind, 0, body);
  }
  StmtPtr over_j(const StmtPtr &body) const {
    return for_loop(j->id, j->name, integer(0), n, LoopKind::Serial, 0, body);
  }

  std::string after(const StmtPtr &body) {
    kernel.body = body;
    kernel.buffers[1].is_scoped = false;
    kernel.buffers[1].extents = {n};
    contract_arrays(kernel);
    return print_loop_ir(kernel);
  }
};

TEST(ContractArrays, AnElementOfEachIterationBecomesItsScalar) {
  OneTemporary one;
  EXPECT_EQ(one.after(one.over_i(block({one.set(one.i), one.over_j(one.use(one.t(one.i)))}))),
            "for i in range(0, N):  # parallel\n"
            "  T = empty((), float64)\n"
            "  T[()] = float64(i)\n"
            "  for j in range(0, N):\n"
            "    Y[i] = T[()]\n");
}

TEST(ContractArrays, ElementsMayLieApart) {
  OneTemporary one;
  const ValuePtr odd = add(mul(integer(2), one.i), integer(1));
  const auto touched = [&](const ValuePtr &at, const ValuePtr &other) {
    return one.after(one.over_i(block({one.set(at), one.use(one.t(other))})));
  };
  EXPECT_NE(touched(odd, odd).find("Y[i] = T[()]"), std::string::npos);
  EXPECT_EQ(touched(odd, sub(odd, integer(2))).find("T[()]"), std::string::npos);
  EXPECT_EQ(touched(odd, mul(integer(2), one.i)).find("T[()]"), std::string::npos);
  // the same element for several iterations
  const ValuePtr half = floor_div(one.i, integer(2));
  EXPECT_EQ(touched(half, half).find("T[()]"), std::string::npos);
}

TEST(ContractArrays, WhatEachIterationSetsBeforeItReadsMayHaveLoopsAround) {
  OneTemporary one;
  const std::string scalar = "T[()] = float64(i)\n";
  const StmtPtr inside = one.over_i(block({one.set(one.i), one.use(one.t(one.i))}));
  EXPECT_NE(one.after(one.over_j(inside)).find(scalar), std::string::npos);
  EXPECT_NE(one.after(while_loop(boolean(true), inside)).find(scalar), std::string::npos);
  // set in one of two branches only
  const StmtPtr perhaps = one.over_i(
      block({if_then(binary_value(Op::Lt, one.i, one.n), one.set(one.i)), one.use(one.t(one.i))}));
  EXPECT_EQ(one.after(one.over_j(perhaps)).find("T[()]"), std::string::npos);
  EXPECT_NE(one.after(perhaps).find("T[()]"), std::string::npos);
}

TEST(ContractArrays, OfMoreDimensions) {
  OneTemporary one;
  const auto plane = [&](const StmtPtr &body) {
    one.kernel.body = body;
    one.kernel.buffers[1].is_scoped = false;
    one.kernel.buffers[1].extents = {one.n, one.n};
    contract_arrays(one.kernel);
    return print_loop_ir(one.kernel);
  };
  const auto set = [&](const ValuePtr &a, const ValuePtr &b) {
    return store(1, "T", {a, b}, cast_value(one.i, Float64));
  };
  const ValuePtr read = load(1, "T", {Float64, 1}, {one.j, one.i});
  EXPECT_EQ(plane(one.over_i(one.over_j(block({set(one.j, one.i), one.use(read)})))),
            "for i in range(0, N):  # parallel\n"
            "  for j in range(0, N):\n"
            "    T = empty((), float64)\n"
            "    T[()] = float64(i)\n"
            "    Y[i] = T[()]\n");
  EXPECT_EQ(plane(one.over_i(one.over_j(block({set(one.i, one.j), one.use(read)})))).find("T[()]"),
            std::string::npos);
  EXPECT_EQ(plane(one.over_i(one.over_j(block({set(one.i, one.i), one.use(read)})))).find("T[()]"),
            std::string::npos);
}

TEST(ContractArrays, NotInVectorsWhichHaveNoScalarsOfTheirOwn) {
  OneTemporary one;
  const StmtPtr body = block({one.set(one.i), one.use(one.t(one.i))});
  EXPECT_EQ(one.after(one.over_i(body, LoopKind::Vector)).find("T[()]"), std::string::npos);
}

TEST(ContractArrays, NotWhatAnotherIterationLeaves) {
  OneTemporary one;
  // what one iteration of j leaves in T may be read in the next one
  const StmtPtr inside = one.over_i(block({one.use(one.t(one.i)), one.set(one.i)}));
  EXPECT_EQ(one.after(one.over_j(inside)).find("T[()]"), std::string::npos);
  const StmtPtr again = while_loop(boolean(true), inside);
  EXPECT_EQ(one.after(again).find("T[()]"), std::string::npos);
}

TEST(ContractArrays, NotWhereOtherElementsOrOtherLoopsAreTouched) {
  OneTemporary one;
  const ValuePtr next = add(one.i, integer(1));
  for (const StmtPtr &body :
       {one.over_i(block({one.set(one.i), one.use(one.t(next))})),
        one.over_i(block({one.set(next), one.use(one.t(one.i))})),
        block({one.over_i(one.set(one.i)), one.over_i(one.use(one.t(one.i)))}),
        block({one.over_i(block({one.set(one.i), one.use(one.t(one.i))})),
               store(0, "Y", {integer(0)}, one.t(integer(0)))}),
        one.over_i(block({one.set(one.i), one.over_j(one.use(one.t(one.j)))}))}) {
    EXPECT_EQ(one.after(body).find("T[()]"), std::string::npos) << print_loop_ir(one.kernel);
  }
}

} // namespace
} // namespace tilewright::test
