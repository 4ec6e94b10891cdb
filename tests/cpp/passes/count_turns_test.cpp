#include "algorithm/extern_function.h"
#include "loops/build.h"
#include "loops/loop_ir.h"
#include "passes/count_turns.h"
#include "passes/simplify_indices.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace tilewright::test {
namespace {

/// for turn_j in range(0, while_limit): what a test writes. Y (int64) and ends (int64) are
/// arguments, left_j (bool) and chosen (bool) the kernel's.
struct Turns {
  Kernel kernel;
  ValuePtr flag = load(1, "left_j", {Bool, 1}, {});
  ValuePtr chosen = load(2, "chosen", {Bool, 1}, {});
  ValuePtr stop = load(3, "ends", {Int64, 1}, {integer(0)});
  std::shared_ptr<const Variable> turn = variable(1, "turn_j");

  Turns() {
    kernel.name = "turns";
    kernel.parameters = {"while_limit"};
    add("Y", Int64, true, {integer(4)});
    add("left_j", Bool, false, {});
    add("chosen", Bool, false, {});
    add("ends", Int64, true, {integer(1)});
  }

  void add(const std::string &name, ScalarType type, bool is_argument,
           std::vector<ValuePtr> extents) {
    KernelBuffer buffer;
    buffer.name = name;
    buffer.type = type;
    buffer.is_argument = is_argument;
    buffer.is_written = true;
    buffer.extents = std::move(extents);
    buffer.layout.unit = is_argument ? 0 : -1;
    kernel.buffers.push_back(std::move(buffer));
  }

  ValuePtr goes_on() const { return unary_value(Op::Not, flag); }
  StmtPtr change() const { return store(0, "Y", {integer(0)}, turn); }
  StmtPtr leave() const { return store(1, "left_j", {}, boolean(true)); }

  /// What the loop becomes whose iterations go on while `test` holds, and `more` is in them.
  std::string after(const ValuePtr &test, const StmtPtr &more = block({})) {
    const StmtPtr body =
        block({if_then(both(both(goes_on(), chosen), test), change()), more,
               if_then(both(both(goes_on(), chosen), unary_value(Op::Not, test)), leave())});
    kernel.body = for_loop(turn->id, turn->name, integer(0), parameter_value(0, "while_limit"),
                           LoopKind::Serial, 0, body);
    count_turns(kernel);
    kernel.body = simplify_indices(kernel.body, {});
    return print_loop_ir(kernel);
  }
};

TEST(CountTurns, AreKnownWhereACounterEndsTheLoop) {
  Turns one;
  const std::string text = one.after(binary_value(Op::Lt, add(integer(5), one.turn), one.stop));
  EXPECT_NE(text.find("if not left_j[()]:\n"
                      "  end = min(while_limit, ends[0] - 5 if 5 < ends[0] else 0)\n"
                      "  for turn_j in range(0, end):\n"
                      "    if chosen[()]:\n"
                      "      Y[0] = turn_j\n"
                      "  if chosen[()]:\n"
                      "    left_j[()] = True\n"),
            std::string::npos)
      << text;
}

TEST(CountTurns, OfLoopsWithAStep) {
  Turns one;
  const auto steps = [&](std::int64_t step) {
    return binary_value(Op::Mul, one.turn, integer(step));
  };
  const std::string up = one.after(binary_value(Op::Lt, steps(3), one.stop));
  EXPECT_NE(up.find("(ends[0] + 2) // 3"), std::string::npos) << up;
  const std::string down = one.after(binary_value(Op::Gt, add(integer(9), steps(-2)), one.stop));
  EXPECT_NE(down.find("if 9 > ends[0] else 0"), std::string::npos) << down;
  // Away from its end, it goes on for good.
  const std::string away = one.after(binary_value(Op::Lt, steps(-1), one.stop));
  EXPECT_EQ(away.find("end ="), std::string::npos) << away;
}

TEST(CountTurns, AreNotWhereTheLoopChangesWhatItAsks) {
  Turns one;
  const ValuePtr test = binary_value(Op::Lt, one.turn, one.stop);
  const StmtPtr moved =
      if_then(one.goes_on(), store(3, "ends", {integer(0)}, add(one.turn, integer(1))));
  EXPECT_EQ(one.after(test, moved).find("end ="), std::string::npos);
  const StmtPtr chooses = if_then(one.goes_on(), store(2, "chosen", {}, boolean(false)));
  EXPECT_EQ(one.after(test, chooses).find("end ="), std::string::npos);
}

TEST(CountTurns, AreNotWhereABlockGetsTheAddressOfWhatTheLoopAsks) {
  Turns one;
  const ValuePtr test = binary_value(Op::Lt, one.turn, one.stop);
  const auto given = [&](std::int64_t buffer) {
    auto address = std::make_shared<ExternFunction>();
    address->name = "address";
    address->result = Int64;
    address->address_in = buffer;
    return if_then(one.goes_on(), store(0, "Y", {integer(1)}, extern_value(address, {integer(0)})));
  };
  EXPECT_EQ(one.after(test, given(3)).find("end ="), std::string::npos);
  EXPECT_NE(one.after(test, given(0)).find("end ="), std::string::npos);
}

TEST(CountTurns, WhatASchedulePutsBesideRunsInAllIterations) {
  Turns one;
  const StmtPtr beside =
      if_then(binary_value(Op::Lt, one.turn, integer(4)), store(0, "Y", {one.turn}, integer(7)));
  const std::string text = one.after(binary_value(Op::Lt, one.turn, one.stop), beside);
  EXPECT_EQ(text.find("end ="), std::string::npos) << text;
}

TEST(CountTurns, ABreakStillEndsTheLoop) {
  Turns one;
  const StmtPtr jump = if_then(
      both(one.goes_on(), binary_value(Op::Eq, load(0, "Y", {Int64, 1}, {integer(0)}), integer(3))),
      one.leave());
  const std::string text = one.after(binary_value(Op::Lt, one.turn, one.stop), jump);
  EXPECT_NE(text.find("end = min(while_limit, "), std::string::npos) << text;
  EXPECT_NE(text.find("if not left_j[()] and chosen[()]:"), std::string::npos) << text;
}

} // namespace
} // namespace tilewright::test
