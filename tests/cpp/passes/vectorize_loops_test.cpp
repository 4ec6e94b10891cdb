#include "loops/line.h"
#include "passes/promote_accumulators.h"
#include "passes/simplify_indices.h"
#include "passes/vectorize_loops.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

TEST(Vectorize, RestUnderAMask) {
  Line line;
  const auto v = variable(2, "v");
  line.kernel.body = for_loop(2, "v", integer(0), minimum(integer(4), line.n),
                              LoopKind::MaskedVector, 4, Line::y(v, Line::x(v)));
  line.kernel.body = vectorize_loops(line.kernel.body, {8});
  verify_kernel(line.kernel);
  EXPECT_EQ(line.printed(), "if 0 < min(4, N):\n"
                            "  Y[0 : 4] = masked(X[0 : 4], 0 + lanes(4) < min(4, N))"
                            "  # where 0 + lanes(4) < min(4, N)\n");
}

TEST(Vectorize, LoopsThatRangesBoundByTheirLanes) {
  Line line;
  const auto i = variable(1, "i");
  const auto v = variable(2, "v");
  line.kernel.body = for_loop(1, "i", integer(0), integer(3), LoopKind::Serial, 0,
                              for_loop(2, "v", integer(0), sub(integer(8), i), LoopKind::Vector, 8,
                                       Line::y(v, Line::x(add(v, i)))));
  line.kernel.body = vectorize_loops(line.kernel.body, {4});
  EXPECT_EQ(line.printed().find("for v"), std::string::npos) << line.printed();
}

TEST(Vectorize, ElementsTooSmallForAMaskStaySerial) {
  Line line;
  const auto v = variable(2, "v");
  line.kernel.body = for_loop(2, "v", integer(0), minimum(integer(4), line.n),
                              LoopKind::MaskedVector, 4, Line::y(v, Line::x(v)));
  line.kernel.body = vectorize_loops(line.kernel.body, {16});
  EXPECT_EQ(line.printed(), "for v in range(0, min(4, N)):\n  Y[v] = X[v]\n");
}

TEST(Vectorize, SumsOfLanesGetVectorsThatTakeTurns) {
  Line line;
  const auto k = variable(1, "k");
  const auto v = variable(2, "v");
  const auto term = [&](std::int64_t first) {
    const auto at = add(add(mul(integer(8), k), integer(first)), v);
    const auto sum = binary_value(Op::Add, load(1, "Y", {Float64, 1}, {integer(0)}), Line::x(at));
    return for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4,
                    store(1, "Y", {integer(0)}, sum, Op::Add));
  };
  Numbers numbers(term(0));
  line.kernel.body = for_loop(1, "k", integer(0), line.n, LoopKind::Serial, 0,
                              block({term(0), copy_with(term(4), {}, numbers)}));
  line.kernel.body = promote_accumulators(vectorize_loops(line.kernel.body, {}));
  verify_kernel(line.kernel);
  const std::string text = line.printed();
  EXPECT_NE(text.find("reduce(+, acc + acc_2)"), std::string::npos) << text;
}

TEST(Vectorize, StridesBroadcastsAndGathers) {
  Line line;
  const auto v = variable(2, "v");
  const auto value = binary_value(Op::Add, Line::x(mul(integer(3), v)),
                                  binary_value(Op::Add, Line::x(integer(5)), Line::x(mul(v, v))));
  line.kernel.body = for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4,
                              Line::y(sub(integer(9), v), value));
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  const std::string text = line.printed();
  EXPECT_NE(text.find("X[0 : 12 : 3]"), std::string::npos) << text;
  EXPECT_NE(text.find("X[5]"), std::string::npos) << text;
  EXPECT_EQ(text.find("for"), std::string::npos) << text;
}

TEST(Vectorize, StoreToOneElementStaysSerial) {
  Line line;
  const auto v = variable(2, "v");
  const auto sum = binary_value(Op::Add, load(1, "Y", {Float64, 1}, {integer(0)}), Line::x(v));
  line.kernel.body =
      for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4, Line::y(integer(0), sum));
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "for v in range(0, 4):\n  Y[0] = Y[0] + X[v]\n");
}

TEST(Vectorize, ConditionsOverLanesThatReadStaySerial) {
  Line line;
  const auto v = variable(2, "v");
  const auto t = local(3, "t", {Float64, 1});
  const auto read = if_then(binary_value(Op::Gt, v, integer(0)),
                            assign_local(3, "t", Line::x(sub(v, integer(1)))));
  line.kernel.body =
      for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4,
               block({declare_local(3, "t", constant_of(0.0, Float64)), read, Line::y(v, t)}));
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  EXPECT_NE(line.printed().find("for v in range(0, 4):"), std::string::npos) << line.printed();
}

TEST(Vectorize, LocalsThatAreStridesAreNoVectors) {
  Line line;
  const auto v = variable(2, "v");
  const auto at = local(3, "at", {Int64, 1});
  const auto vectorized = [&](const std::vector<StmtPtr> &statements) {
    line.kernel.body = vectorize_loops(
        for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4, block(statements)), {});
    return line.printed();
  };
  const StmtPtr twice = declare_local(3, "at", mul(integer(2), v));
  const StmtPtr copied = Line::y(v, Line::x(at));
  EXPECT_EQ(vectorized({twice, copied}), "Y[0 : 4] = X[0 : 8 : 2]\n");
  // One that has another value later on stays.
  const StmtPtr later = assign_local(3, "at", add(at, integer(1)));
  EXPECT_NE(vectorized({twice, later, copied}).find("at = 0 + 2 * lanes(4)"), std::string::npos)
      << line.printed();
}

TEST(Vectorize, SerialLoopsInsideAreKept) {
  Line line;
  const auto v = variable(2, "v");
  const auto k = variable(4, "k");
  const auto t = local(3, "t", {Float64, 1});
  const auto loop = for_loop(4, "k", integer(0), line.n, LoopKind::Serial, 0,
                             assign_local(3, "t", binary_value(Op::Add, t, Line::x(k))));
  line.kernel.body = for_loop(2, "v", integer(0), integer(4), LoopKind::Vector, 4,
                              block({declare_local(3, "t", Line::x(v)), loop, Line::y(v, t)}));
  line.kernel.body = vectorize_loops(line.kernel.body, {});
  EXPECT_EQ(line.printed(), "t = X[0 : 4]\nfor k in range(0, N):\n  t = t + X[k]\nY[0 : 4] = t\n");
}

} // namespace
} // namespace tilewright::test
