// Tests that leave loops, and first and last iterations that get loops of their own.
#include "lowering/fixture.h"
#include "passes/simplify_indices.h"
#include "passes/split_borders.h"
#include "passes/unswitch.h"

namespace tilewright::test {
namespace {

KernelBuffer array(const std::string &name, std::vector<ValuePtr> extents) {
  KernelBuffer buffer;
  buffer.name = name;
  buffer.type = Float64;
  buffer.is_written = name != "X";
  buffer.layout.unit = static_cast<int>(extents.size()) - 1;
  buffer.extents = std::move(extents);
  return buffer;
}

/// A kernel with parameters N and M, an input X and an output Y of N x M elements.
struct Plane {
  Kernel kernel;
  ValuePtr n = parameter_value(0, "N");
  ValuePtr m = parameter_value(1, "M");
  ValuePtr i = variable(1, "i");
  ValuePtr j = variable(2, "j");
  ValuePtr v = variable(3, "v");

  Plane() {
    kernel.name = "plane";
    kernel.parameters = {"N", "M"};
    kernel.buffers = {array("X", {n, m}), array("Y", {n, m})};
  }

  ValuePtr x(const ValuePtr &column) const { return load(0, "X", {Float64, 1}, {i, column}); }
  StmtPtr y(const ValuePtr &column, const ValuePtr &value) const {
    return store(1, "Y", {i, column}, value);
  }
  static StmtPtr loop(const ValuePtr &counter, const ValuePtr &lower, const ValuePtr &upper,
                      const StmtPtr &body, LoopKind kind = LoopKind::Serial,
                      std::int64_t factor = 0) {
    const auto &own = cast<Variable>(counter);
    return for_loop(own.id, own.name, lower, upper, kind, factor, body);
  }
  StmtPtr rows(const StmtPtr &body, LoopKind kind = LoopKind::Serial) const {
    return loop(i, integer(0), n, body, kind);
  }

  /// `pass` on the kernel, which computes the same for some sizes.
  std::string after(const std::function<StmtPtr(const StmtPtr &)> &pass) {
    const Kernel before = kernel;
    kernel.body = simplify_indices(pass(kernel.body), {});
    verify_kernel(kernel);
    for (const Parameters &sizes :
         {Parameters{{"N", 0}, {"M", 3}}, Parameters{{"N", 1}, {"M", 1}},
          Parameters{{"N", 2}, {"M", 2}}, Parameters{{"N", 3}, {"M", 9}},
          Parameters{{"N", 9}, {"M", 8}}, Parameters{{"N", 5}, {"M", 31}}}) {
      Interpreter expected = interpret(before, sizes);
      Interpreter got = interpret(kernel, sizes);
      EXPECT_EQ(expected.run(), -1);
      EXPECT_EQ(got.run(), -1);
      for (size_t e = 0; e < expected.memory.data[1].size(); ++e) {
        EXPECT_EQ(got.memory.data[1][e].f, expected.memory.data[1][e].f) << "element " << e << "\n"
                                                                         << print_loop_ir(kernel);
      }
    }
    return print_loop_ir(kernel);
  }
};

StmtPtr split(const StmtPtr &body) { return split_borders(body, {}, false); }

ValuePtr equals(const ValuePtr &a, const ValuePtr &b) { return binary_value(Op::Eq, a, b); }

TEST(Unswitch, MovesTestsOutOfTheInnermostLoop) {
  Plane plane;
  const StmtPtr body = if_then(
      both(binary_value(Op::Gt, plane.i, integer(0)), binary_value(Op::Gt, plane.j, integer(1))),
      plane.y(plane.j, plane.x(plane.j)), plane.y(plane.j, plane.x(integer(0))));
  plane.kernel.body = plane.rows(Plane::loop(plane.j, integer(0), plane.m, body));
  EXPECT_EQ(plane.after(unswitch), "for i in range(0, N):\n"
                                   "  if i > 0:\n"
                                   "    for j in range(0, M):\n"
                                   "      if j > 1:\n"
                                   "        Y[i, j] = X[i, j]\n"
                                   "      else:\n"
                                   "        Y[i, j] = X[i, 0]\n"
                                   "  else:\n"
                                   "    for j in range(0, M):\n"
                                   "      Y[i, j] = X[i, 0]\n");
}

TEST(Unswitch, WhatOneTestSaysOfAnother) {
  // i >= 1 says that i == 0 does not hold, and i < 1 that i >= 2 does not.
  Plane plane;
  const auto one = integer(1);
  const StmtPtr body =
      block({if_then(binary_value(Op::Ge, plane.i, one), plane.y(plane.j, plane.x(plane.j))),
             if_then(equals(plane.i, integer(0)), plane.y(plane.j, plane.x(integer(0)))),
             if_then(binary_value(Op::Lt, one, plane.i), plane.y(plane.j, plane.x(integer(0))))});
  plane.kernel.body = plane.rows(Plane::loop(plane.j, integer(0), plane.m, body));
  EXPECT_EQ(plane.after(unswitch), "for i in range(0, N):\n"
                                   "  if i >= 1:\n"
                                   "    if 1 < i:\n"
                                   "      for j in range(0, M):\n"
                                   "        Y[i, j] = X[i, j]\n"
                                   "        Y[i, j] = X[i, 0]\n"
                                   "    else:\n"
                                   "      for j in range(0, M):\n"
                                   "        Y[i, j] = X[i, j]\n"
                                   "  else:\n"
                                   "    if i == 0:\n"
                                   "      for j in range(0, M):\n"
                                   "        Y[i, j] = X[i, 0]\n");
}

TEST(Unswitch, LeavesDataAndLargeBodiesAlone) {
  Plane plane;
  const StmtPtr on_data =
      if_then(binary_value(Op::Gt, plane.x(integer(0)), constant_of(0.0, Float64)),
              plane.y(plane.j, plane.x(plane.j)));
  plane.kernel.body = plane.rows(Plane::loop(plane.j, integer(0), plane.m, on_data));
  const std::string before = print_loop_ir(plane.kernel);
  EXPECT_EQ(plane.after(unswitch), before);

  std::vector<StmtPtr> many(400, plane.y(plane.j, plane.x(plane.j)));
  many.push_back(
      if_then(binary_value(Op::Gt, plane.i, integer(0)), plane.y(plane.j, plane.x(integer(0)))));
  plane.kernel.body = plane.rows(Plane::loop(plane.j, integer(0), plane.m, block(many)));
  EXPECT_NE(plane.after(unswitch).find("    if i > 0:"), std::string::npos);
}

TEST(SplitBorders, FirstMiddleAndLast) {
  Plane plane;
  const StmtPtr inside = plane.y(plane.j, plane.x(plane.j));
  const StmtPtr body = if_then(both(binary_value(Op::Gt, plane.j, integer(0)),
                                    binary_value(Op::Lt, plane.j, sub(plane.m, integer(1)))),
                               inside, plane.y(plane.j, constant_of(7.0, Float64)));
  plane.kernel.body = plane.rows(Plane::loop(plane.j, integer(0), plane.m, body));
  EXPECT_EQ(plane.after(split), "for i in range(0, N):\n"
                                "  for j in range(0, min(M - 1, 1)):\n"
                                "    Y[i, j] = 7.0\n"
                                "  for j in range(1, M - 1):\n"
                                "    Y[i, j] = X[i, j]\n"
                                "  for j in range(max(0, M - 1), M):\n"
                                "    if j > 0 and j < M - 1:\n"
                                "      Y[i, j] = X[i, j]\n"
                                "    else:\n"
                                "      Y[i, j] = 7.0\n");
}

TEST(SplitBorders, ClampedSubscripts) {
  Plane plane;
  const ValuePtr before = maximum(sub(plane.j, integer(2)), integer(0));
  const ValuePtr behind = minimum(add(plane.j, integer(1)), sub(plane.m, integer(1)));
  plane.kernel.body = plane.rows(
      Plane::loop(plane.j, integer(0), plane.m,
                  plane.y(plane.j, binary_value(Op::Add, plane.x(before), plane.x(behind)))));
  const std::string text = plane.after(split);
  EXPECT_NE(text.find("  for j in range(2, M - 1):\n"
                      "    Y[i, j] = X[i, j - 2] + X[i, j + 1]\n"),
            std::string::npos)
      << text;
}

TEST(SplitBorders, EqualitiesInAllLanesOfAVectorLoop) {
  Plane plane;
  const ValuePtr column = add(mul(integer(4), plane.j), plane.v);
  const ValuePtr end = minimum(integer(4), sub(plane.m, mul(integer(4), plane.j)));
  const ValuePtr start = maximum(integer(0), sub(integer(1), mul(integer(4), plane.j)));
  const StmtPtr lanes = Plane::loop(plane.v, start, end,
                                    if_then(equals(add(column, integer(1)), plane.m),
                                            plane.y(column, constant_of(7.0, Float64)),
                                            plane.y(column, plane.x(sub(column, integer(1))))),
                                    LoopKind::Vector, 4);
  const StmtPtr first =
      if_then(equals(plane.j, integer(0)), plane.y(integer(0), constant_of(5.0, Float64)));
  plane.kernel.body = plane.rows(Plane::loop(
      plane.j, integer(0), floor_div(add(plane.m, integer(3)), integer(4)), block({first, lanes})));
  const std::string text = plane.after(split);
  EXPECT_NE(text.find("  for j in range(1, (M + 3) // 4 - 1):\n"
                      "    for v in range(0, 4):  # vector(4)\n"
                      "      Y[i, 4 * j + v] = X[i, 4 * j + v - 1]\n"),
            std::string::npos)
      << text;
}

TEST(SplitBorders, AParallelLoopStaysOne) {
  Plane plane;
  const ValuePtr behind = minimum(add(plane.i, integer(1)), sub(plane.n, integer(1)));
  const StmtPtr body =
      store(1, "Y", {plane.i, integer(0)}, load(0, "X", {Float64, 1}, {behind, integer(0)}));
  plane.kernel.body = plane.rows(body, LoopKind::Parallel);
  EXPECT_EQ(plane.after(split), "for i in range(0, N):  # parallel\n"
                                "  if i < N - 1:\n"
                                "    Y[i, 0] = X[i + 1, 0]\n"
                                "  else:\n"
                                "    Y[i, 0] = X[min(i + 1, N - 1), 0]\n");
}

TEST(SplitBorders, LeavesTestsThatAreNoBorders) {
  Plane plane;
  const StmtPtr half = if_then(binary_value(Op::Lt, plane.j, floor_div(plane.m, integer(2))),
                               plane.y(plane.j, plane.x(plane.j)));
  plane.kernel.body = plane.rows(Plane::loop(plane.j, integer(0), plane.m, half));
  const std::string before = print_loop_ir(plane.kernel);
  EXPECT_EQ(plane.after(split), before);
}

TEST(SplitBorders, LeavesEarlyEndsOfVectorLoopsToTileSeparation) {
  Plane plane;
  const ValuePtr column = add(mul(integer(4), plane.j), plane.v);
  const ValuePtr end = minimum(integer(4), sub(plane.m, mul(integer(4), plane.j)));
  const StmtPtr lanes =
      Plane::loop(plane.v, integer(0), end, plane.y(column, plane.x(column)), LoopKind::Vector, 4);
  plane.kernel.body = plane.rows(
      Plane::loop(plane.j, integer(0), floor_div(add(plane.m, integer(3)), integer(4)), lanes));
  const std::string before = print_loop_ir(plane.kernel);
  EXPECT_EQ(plane.after(split), before);
}

TEST(Simplify, AStoreOfAnElementsOwnValueGoes) {
  Plane plane;
  const ValuePtr own = load(1, "Y", {Float64, 1}, {plane.i, plane.j});
  const ValuePtr other = load(1, "Y", {Float64, 1}, {plane.i, integer(0)});
  plane.kernel.body =
      plane.rows(block({Plane::loop(plane.j, integer(0), plane.m, plane.y(plane.j, own)),
                        plane.y(integer(1), other)}));
  EXPECT_EQ(print_loop_ir([&] {
              plane.kernel.body = simplify_indices(plane.kernel.body, {});
              return plane.kernel;
            }()),
            "for i in range(0, N):\n"
            "  Y[i, 1] = Y[i, 0]\n");
}

} // namespace
} // namespace tilewright::test
