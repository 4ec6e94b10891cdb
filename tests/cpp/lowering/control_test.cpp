// Predicates of reductions and while loops on their way into loops.
#include "fixture.h"
#include "passes/promote_accumulators.h"

namespace tilewright::test {
namespace {

/// A condition on data in front of a reduction's body, and what it reads and computes.
TEST(Control, APredicateGuardsItsUpdate) {
  const auto n = par("N");
  const auto x = declare_input("X", {n}, Int64, {});
  const auto y = declare_computation("Y", {{"i", num(0), n}}, nullptr, Int64, {}, {});
  const auto k = it("k");
  const auto positive = binary(Op::Gt, access(x, {k}), num(0));
  const auto before = binary(Op::Le, k, it("i"));
  define_piece(
      y, nullptr,
      reduce(Op::ReduceSum, {{"k", num(0), n}}, access(x, {k}), binary(Op::And, positive, before)),
      {});
  const Expr &root = *y->pieces.front().value;
  EXPECT_EQ(to_string(root.condition), "k <= i");
  EXPECT_EQ(to_string(root.predicate), "X[k] > 0");
  const auto function = function_of({y});
  EXPECT_EQ(to_string(y->pieces.front().value),
            "sum(X[k] for k in range(0, N) if (k <= i) & (X[k] > 0))");
  const Kernel kernel = lower_mapping(Mapping(function));
  EXPECT_EQ(print_loop_ir(kernel), "for i in range(0, N):\n"
                                   "  Y[i] = 0\n"
                                   "  for k in range(0, i + 1):\n"
                                   "    if X[k] > 0:\n"
                                   "      Y[i] = Y[i] + X[k]\n");
  for (const std::int64_t size : {0, 1, 7}) {
    expect_equal(*function, kernel, {{"N", size}});
  }
}

TEST(Control, APredicateThatWantsStatementsRunsThemFirst) {
  const auto n = par("N");
  const auto x = declare_input("X", {n}, Int64, {});
  const auto y = declare_computation("Y", {{"i", num(0), n}}, nullptr, Int64, {}, {});
  const auto inner = reduce(Op::ReduceMax, {{"m", num(0), it("k") + num(1)}}, access(x, {it("m")}));
  define_piece(y, nullptr,
               num(2) * reduce(Op::ReduceSum, {{"k", num(0), n}}, access(x, {it("k")}),
                               binary(Op::Lt, inner, it("i") + num(3))),
               {});
  const auto function = function_of({y});
  const Kernel kernel = lower_mapping(Mapping(function));
  for (const std::int64_t size : {0, 1, 7}) {
    expect_equal(*function, kernel, {{"N", size}});
  }
}

/// The sum of 1 .. |x|, in a state that the other one reads: both change at once.
ExprPtr triangle(const ExprPtr &x, const ExprPtr &limit) {
  const ExprPtr left = state("left", Int64);
  const ExprPtr sum = state("sum", Int64);
  return while_loop({left, sum}, {unary(Op::Abs, x), num(0)}, binary(Op::Gt, left, num(0)),
                    {left - num(1), sum + left}, limit)
      .at(1);
}

TEST(Control, AWhileLoopKeepsItsStateInLocals) {
  const auto n = par("N");
  const auto x = declare_input("X", {n}, Int64, {});
  const auto y = declare_computation("Y", {{"i", num(0), n}}, nullptr, Int64, {}, {});
  define_piece(y, nullptr, triangle(access(x, {it("i")}), it("i")), {});
  const auto function = function_of({y});
  const Kernel kernel = lower_mapping(Mapping(function));
  EXPECT_EQ(print_loop_ir(kernel), "for i in range(0, N):\n"
                                   "  left = abs(X[i])\n"
                                   "  sum = 0\n"
                                   "  count = 0\n"
                                   "  while count < i and left > 0:\n"
                                   "    next = sum + left\n"
                                   "    left = left - 1\n"
                                   "    sum = next\n"
                                   "    count = count + 1\n"
                                   "  Y[i] = sum\n");
  for (const std::int64_t size : {0, 1, 9}) {
    expect_equal(*function, kernel, {{"N", size}});
  }
}

TEST(Control, AConditionThatWantsStatementsKeepsTheLimitBeforeIt) {
  const auto n = par("N");
  const auto x = declare_input("X", {n}, Int64, {});
  const auto y = declare_computation("Y", {{"i", num(0), n}}, nullptr, Int64, {}, {});
  // Subscripts that depend on a state are checked: beyond the limit there would be none to read.
  const ExprPtr at = state("at", Int64);
  const auto found =
      while_loop({at}, {num(0)}, binary(Op::Ne, access(x, {at}), num(5)), {at + num(1)}, n).at(0);
  define_piece(y, nullptr, found + it("i"), {});
  const auto function = function_of({y});
  const Kernel kernel = lower_mapping(Mapping(function));
  EXPECT_EQ(print_loop_ir(kernel), "for i in range(0, N):\n"
                                   "  at = 0\n"
                                   "  count = 0\n"
                                   "  running = True\n"
                                   "  while count < N and running:\n"
                                   "    index = at\n"
                                   "    assert 0 <= index < N  # X[at]\n"
                                   "    running = X[index] != 5\n"
                                   "    if running:\n"
                                   "      at = at + 1\n"
                                   "      count = count + 1\n"
                                   "  Y[i] = at + i\n");
  for (const std::int64_t size : {0, 1, 9}) {
    expect_equal(*function, kernel, {{"N", size}});
  }
}

TEST(Control, WhatAWhileLoopMayStoreIsNotKeptInALocal) {
  Kernel kernel;
  kernel.name = "maybe";
  kernel.parameters = {"N"};
  const ValuePtr n = parameter_value(0, "N");
  KernelBuffer y;
  y.name = "Y";
  y.type = Int64;
  y.is_written = true;
  y.extents = {n};
  kernel.buffers = {y};
  const ValuePtr element = load(0, "Y", {Int64, 1}, {integer(0)});
  const StmtPtr step = store(0, "Y", {integer(0)}, sub(element, integer(1)));
  const StmtPtr body = while_loop(binary_value(Op::Lt, variable(1, "i"), element), step);
  kernel.body = for_loop(1, "i", integer(0), n, LoopKind::Serial, 0, body);
  verify_kernel(kernel);
  const std::string before = print_loop_ir(kernel);
  kernel.body = promote_accumulators(kernel.body);
  EXPECT_EQ(print_loop_ir(kernel), before);
}

TEST(Control, VectorLoopsAroundAWhileLoopAreSerial) {
  const auto n = par("N");
  const auto x = declare_input("X", {n}, Int64, {});
  const auto y = declare_computation("Y", {{"i", num(0), n}}, nullptr, Int64, {}, {});
  define_piece(y, nullptr, triangle(access(x, {it("i")}), nullptr), {});
  const auto function = function_of({y});
  const Mapping mapping = Mapping(function).with(command("Y", "vectorize", {"i", std::int64_t{4}}));
  const Kernel kernel = lower_mapping(mapping);
  expect_equal(*function, kernel, {{"N", 11}});
}

} // namespace
} // namespace tilewright::test
