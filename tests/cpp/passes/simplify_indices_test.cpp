#include "loops/line.h"
#include "passes/simplify_indices.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

TEST(Simplify, CancelsDivisionsByRanges) {
  Line line;
  const auto i0 = variable(1, "i0");
  const auto i1 = variable(2, "i1");
  const auto sum = add(mul(integer(32), i0), i1);
  const auto at = add(mul(floor_div(sum, integer(32)), integer(32)), floor_mod(sum, integer(32)));
  line.kernel.body = for_loop(
      1, "i0", integer(0), floor_div(line.n, integer(32)), LoopKind::Serial, 0,
      for_loop(2, "i1", integer(0), integer(32), LoopKind::Serial, 0, Line::y(at, Line::x(at))));
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for i0 in range(0, N // 32):\n"
                            "  for i1 in range(0, 32):\n"
                            "    Y[32 * i0 + i1] = X[32 * i0 + i1]\n");
}

TEST(Simplify, KeepsDivisionsThatRangesDoNotDecide) {
  Line line;
  const auto i = variable(1, "i");
  const auto at = floor_div(sub(add(mul(integer(6), i), integer(7)), integer(4)), integer(4));
  line.kernel.body =
      for_loop(1, "i", integer(-5), line.n, LoopKind::Serial, 0, Line::y(at, Line::x(i)));
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for i in range(-5, N):\n  Y[(3 * i + 1) // 2] = X[i]\n");
}

TEST(Simplify, DividesTheOperandsOfAnExtremum) {
  Line line;
  const auto i = variable(1, "i");
  const auto most = maximum(i, add(mul(integer(3), i), integer(-6)));
  const auto up = floor_div(sub(most, i), integer(2));
  const auto down = floor_div(sub(i, most), integer(2));
  const auto other = floor_div(most, integer(2)); // i // 2 would be left
  line.kernel.body = for_loop(1, "i", integer(0), line.n, LoopKind::Serial, 0,
                              block({Line::y(up, Line::x(i)), Line::y(down, Line::x(other))}));
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for i in range(0, N):\n"
                            "  Y[max(0, i - 3)] = X[i]\n"
                            "  Y[min(0, 3 - i)] = X[max(i, 3 * i - 6) // 2]\n");
}

TEST(Simplify, DecidesMinimaAndConditions) {
  Line line;
  Ranges known;
  known.parameters[0] = {100, std::nullopt};
  const auto i = variable(1, "i");
  const auto test = binary_value(Op::Lt, i, integer(200));
  line.kernel.body = for_loop(
      1, "i", maximum(integer(0), integer(-3)), minimum(integer(64), line.n), LoopKind::Serial, 0,
      if_then(test, Line::y(i, Line::x(i)), Line::y(i, Line::x(integer(0)))));
  line.kernel.body = simplify_indices(line.kernel.body, known);
  EXPECT_EQ(line.printed(), "for i in range(0, 64):\n  Y[i] = X[i]\n");
}

TEST(Simplify, KnowsThatTilesBegunAreNotEmpty) {
  const auto guarded = [](std::int64_t rounded) {
    Line line;
    const auto j = variable(1, "j");
    const auto v = variable(2, "v");
    const auto first = mul(integer(16), j);
    const auto left = minimum(integer(16), sub(line.n, first));
    const auto at = add(first, v);
    line.kernel.body = for_loop(
        1, "j", floor_div(line.n, integer(16)),
        minimum(integer(8), floor_div(add(line.n, integer(rounded)), integer(16))),
        LoopKind::Serial, 0,
        if_then(binary_value(Op::Lt, integer(0), left),
                for_loop(2, "v", integer(0), left, LoopKind::Serial, 0, Line::y(at, Line::x(at)))));
    line.kernel.body = simplify_indices(line.kernel.body, {});
    return line.printed();
  };
  EXPECT_EQ(guarded(15).find("if "), std::string::npos) << guarded(15);
  EXPECT_NE(guarded(16).find("if 0 < min(16, N - 16 * j)"), std::string::npos) << guarded(16);
}

TEST(Simplify, RemovesLoopsOfNoneAndOneIteration) {
  Line line;
  const auto i = variable(1, "i");
  const auto j = variable(2, "j");
  line.kernel.body =
      block({for_loop(1, "i", integer(3), integer(3), LoopKind::Serial, 0, Line::y(i, Line::x(i))),
             for_loop(2, "j", line.n, add(line.n, integer(1)), LoopKind::Serial, 0,
                      Line::y(sub(j, integer(1)), Line::x(integer(0))))});
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "Y[N - 1] = X[0]\n");
}

TEST(Simplify, KnowsBoundsInALoopOfAtMostOneIteration) {
  Line line;
  const auto i = variable(1, "i");
  const auto v = variable(2, "v");
  const auto vector = for_loop(2, "v", sub(integer(1), mul(integer(8), i)), integer(8),
                               LoopKind::Vector, 8, Line::y(v, Line::x(add(v, i))));
  line.kernel.body = for_loop(1, "i", integer(0), minimum(integer(1), sub(line.n, integer(9))),
                              LoopKind::Serial, 0, vector);
  line.kernel.body = simplify_indices(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for i in range(0, min(1, N - 9)):\n"
                            "  for v in range(1, 8):  # vector(8)\n"
                            "    Y[v] = X[v + i]\n");
}

TEST(Simplify, LeavesDataAlone) {
  // Loaded integers may be anything: x + 1 < x holds for the largest one.
  Kernel kernel;
  kernel.name = "data";
  kernel.parameters = {"N"};
  const auto n = parameter_value(0, "N");
  kernel.buffers = {argument("X", Int64, n), argument("Y", Bool, n)};
  const auto x = load(0, "X", {Int64, 1}, {integer(0)});
  kernel.body = store(1, "Y", {integer(0)}, binary_value(Op::Lt, add(x, integer(1)), x));
  kernel.body = simplify_indices(kernel.body, {});
  EXPECT_EQ(print_loop_ir(kernel), "Y[0] = X[0] + 1 < X[0]\n");
}

} // namespace
} // namespace tilewright::test
