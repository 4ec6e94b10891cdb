#include "loops/build.h"
#include "loops/traverse.h"
#include "passes/leave_loops.h"

#include <gtest/gtest.h>

#include <string>

namespace tilewright::test {
namespace {

/// for turn_while in range(0, while_limit): a body that a test writes. Y (int64) is an argument,
/// left_while (bool) and row (int64) are the kernel's.
struct Endless {
  Kernel kernel;
  ValuePtr limit = parameter_value(0, "while_limit");
  ValuePtr flag = load(1, "left_while", {Bool, 1}, {});
  std::shared_ptr<const Variable> turn = variable(1, "turn_while");
  std::shared_ptr<const Variable> i = variable(2, "i");

  Endless() {
    kernel.name = "endless";
    kernel.parameters = {"while_limit"};
    add("Y", Int64, true, {integer(4)});
    add("left_while", Bool, false, {});
    add("row", Int64, false, {integer(4)});
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

  /// One that ends: Y[0] = turn, left_while = True, as long as it is not left.
  StmtPtr guarded() const {
    return if_then(unary_value(Op::Not, flag), block({store(0, "Y", {integer(0)}, turn),
                                                      store(1, "left_while", {}, boolean(true))}));
  }

  StmtPtr fill(std::int64_t buffer, const std::string &name) const {
    return for_loop(i->id, i->name, integer(0), integer(4), LoopKind::Serial, 0,
                    store(buffer, name, {i}, integer(7)));
  }

  /// Does the loop with these statements end by the flag?
  bool ends(const std::vector<StmtPtr> &body, const StmtPtr &behind) {
    kernel.body =
        block({store(1, "left_while", {}, boolean(false)),
               for_loop(turn->id, turn->name, integer(0), limit, LoopKind::Serial, 0, block(body)),
               behind});
    EXPECT_TRUE(runs_to_parameter(kernel, {"while_limit"}));
    EXPECT_FALSE(runs_to_parameter(kernel, {"other"}));
    leave_loops(kernel);
    return !runs_to_parameter(kernel, {"while_limit"});
  }
};

TEST(LeaveLoops, WhereAllThatIsLeftBehindDependsOnTheFlag) {
  Endless one;
  EXPECT_TRUE(one.ends({one.guarded()}, block({})));
}

TEST(LeaveLoops, WhatIsReadInTheLoopOnlyGoesWithIt) {
  Endless one;
  const ValuePtr element = load(2, "row", {Int64, 1}, {integer(1)});
  const StmtPtr inside =
      if_then(unary_value(Op::Not, one.flag), store(0, "Y", {integer(2)}, element));
  EXPECT_TRUE(one.ends({one.fill(2, "row"), inside, one.guarded()}, block({})));
}

TEST(LeaveLoops, WhatIsReadBehindTheLoopKeepsItGoing) {
  Endless one;
  const ValuePtr element = load(2, "row", {Int64, 1}, {integer(1)});
  EXPECT_FALSE(one.ends({one.fill(2, "row"), one.guarded()}, store(0, "Y", {integer(1)}, element)));
  EXPECT_FALSE(one.ends({one.fill(0, "Y"), one.guarded()}, block({})));
}

/// for i in range(0, 4), left by what it finds: a count that begins with 0 in the first iteration.
struct Counted : Endless {
  ValuePtr count = load(3, "count", {Int64, 1}, {});

  Counted() { add("count", Int64, false, {}); }

  /// count = (i + 1 if not left_while else (first if i == at else count))
  StmtPtr counts(std::int64_t at) const {
    const ValuePtr before = select_value(binary_value(Op::Eq, i, integer(at)), integer(0), count);
    return store(3, "count", {},
                 select_value(unary_value(Op::Not, flag), tilewright::add(i, integer(1)), before));
  }

  /// Is the loop over i one that is left?
  bool is_left(const StmtPtr &body, const StmtPtr &before = block({})) {
    kernel.body =
        block({before, store(1, "left_while", {}, boolean(false)),
               for_loop(i->id, i->name, integer(0), integer(4), LoopKind::Serial, 0, body),
               store(0, "Y", {integer(0)}, count)});
    leave_loops(kernel);
    bool found = false;
    visit_statements(kernel.body, [&](const LoopStatement &statement) {
      found = found || is<While>(statement);
    });
    return found;
  }
};

TEST(LeaveLoops, WhatTheFirstIterationAloneDoesIsDone) {
  Counted one;
  EXPECT_TRUE(one.is_left(block({one.guarded(), one.counts(0)})));
  // the flag is asked behind the first iteration, which sets the count even if it held before
  EXPECT_NE(print_loop_ir(one.kernel).find("done = left_while"), std::string::npos)
      << print_loop_ir(one.kernel);
}

TEST(LeaveLoops, WhatIsAddedUpWhateverTheFlagIsKeepsTheLoopGoing) {
  Counted one;
  const StmtPtr begins = store(3, "count", {}, integer(0));
  const StmtPtr adds = store(3, "count", {}, tilewright::add(one.count, integer(1)));
  EXPECT_FALSE(one.is_left(block({one.guarded(), adds}), begins));
}

TEST(LeaveLoops, WhatTheLastIterationLeavesKeepsTheLoopGoing) {
  Counted one;
  const StmtPtr begins = store(3, "count", {}, integer(0));
  const StmtPtr sets = store(3, "count", {}, one.i);
  EXPECT_FALSE(one.is_left(block({one.guarded(), sets}), begins));
}

TEST(LeaveLoops, AnotherIterationThatDoesSomethingKeepsTheLoopGoing) {
  Counted one;
  EXPECT_FALSE(one.is_left(block({one.guarded(), one.counts(1)})));
}

} // namespace
} // namespace tilewright::test
