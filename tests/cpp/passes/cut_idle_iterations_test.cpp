#include "loops/line.h"
#include "passes/cut_idle_iterations.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// for k in range(0, N), where only iterations below `end` (a local of int64) matter.
struct Ended : Line {
  std::shared_ptr<const Variable> k = variable(1, "k");
  std::shared_ptr<const Local> end = local(7, "end", {Int64, 1});
  std::shared_ptr<const Local> left = local(8, "left", {Bool, 1});
  std::shared_ptr<const Local> kept = local(9, "kept", {Bool, 1});
  ValuePtr below = binary_value(Op::Lt, k, end);

  StmtPtr change() const { return y(k, constant_of(1.0, Float64)); }
  static StmtPtr unless(const ValuePtr &condition, const StmtPtr &then) {
    return if_then(unary_value(Op::Not, condition), then);
  }
  StmtPtr declare_left(const ValuePtr &value) const { return declare_local(8, "left", value); }
  /// left = (X[k] > 0 if k < end else True)
  StmtPtr ask() const {
    const ValuePtr positive = binary_value(Op::Gt, x(k), constant_of(0.0, Float64));
    return declare_left(select_value(below, positive, boolean(true)));
  }

  /// Does the loop over this body end where `end` says?
  bool ends(const StmtPtr &body, LoopKind kind = LoopKind::Serial) {
    kernel.body = cut_idle_iterations(
        block({declare_local(7, "end", n), declare_local(9, "kept", boolean(false)),
               for_loop(1, "k", integer(0), n, kind, 0, body)}));
    const bool found = printed().find("for k in range(0, min(N, end))") != std::string::npos;
    EXPECT_NE(found, printed().find("for k in range(0, N)") != std::string::npos) << printed();
    return found;
  }
};

TEST(CutIdleIterations, WhereNothingIsDoneBehindATest) {
  Ended one;
  EXPECT_TRUE(one.ends(if_then(one.below, one.change())));
  EXPECT_TRUE(one.ends(block({one.ask(), Ended::unless(one.left, one.change())})));
  const ValuePtr asked = both(one.kept, one.below);
  EXPECT_TRUE(one.ends(block(
      {if_then(one.below, assign_local(9, "kept", boolean(true))), if_then(asked, one.change())})));
}

TEST(CutIdleIterations, NotWhereOthersSeeSomething) {
  Ended one;
  EXPECT_FALSE(one.ends(one.change()));
  EXPECT_FALSE(one.ends(if_then(one.below, one.change(), one.change())));
  EXPECT_FALSE(one.ends(block({if_then(one.below, one.change()), one.change()})));
  EXPECT_FALSE(
      one.ends(block({if_then(one.below, one.change()), assign_local(9, "kept", boolean(true))})));
  // left may be False behind the end: another branch sets it
  const StmtPtr set = if_then(one.kept, assign_local(8, "left", boolean(false)));
  EXPECT_FALSE(one.ends(block({one.ask(), set, Ended::unless(one.left, one.change())})));
  EXPECT_FALSE(one.ends(if_then(one.below, one.change()), LoopKind::Parallel));
}

TEST(CutIdleIterations, WhatOneBranchOrNoIterationSetsIsNotKnown) {
  Ended one;
  const StmtPtr sets = assign_local(8, "left", boolean(true));
  const StmtPtr leaves = Ended::unless(one.left, one.change());
  const StmtPtr guarded = if_then(one.below, one.change());
  const StmtPtr declares = one.declare_left(boolean(false));
  const ValuePtr unknown = binary_value(Op::Gt, Line::x(one.k), constant_of(0.0, Float64));
  EXPECT_FALSE(one.ends(block({guarded, declares, if_then(unknown, sets, leaves)})));
  const StmtPtr inner = for_loop(2, "j", integer(0), one.n, LoopKind::Serial, 0, sets);
  EXPECT_FALSE(one.ends(block({guarded, declares, inner, leaves})));
  EXPECT_TRUE(one.ends(block({guarded, declares, sets, leaves})));
}

TEST(CutIdleIterations, NotByABoundThatChanges) {
  Ended one;
  const StmtPtr moves = assign_local(7, "end", add(one.end, integer(1)));
  EXPECT_FALSE(one.ends(if_then(one.below, block({one.change(), moves}))));
}

} // namespace
} // namespace tilewright::test
