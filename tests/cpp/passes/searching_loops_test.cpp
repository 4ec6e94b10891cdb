// Loops that look for something: keep_extremes, find_last, find_first, add_chosen_terms.
#include "loops/line.h"
#include "passes/add_chosen_terms.h"
#include "passes/find_first.h"
#include "passes/find_last.h"
#include "passes/keep_extremes.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// A loop over X with two locals, of which Y gets the values.
struct Searched : Line {
  std::shared_ptr<const Variable> k = variable(1, "k");
  std::shared_ptr<const Local> value = local(7, "value", {Float64, 1});
  std::shared_ptr<const Local> at = local(8, "at", {Int64, 1});

  ValuePtr term() const { return x(k); }
  StmtPtr set_value(const ValuePtr &to) const { return assign_local(7, "value", to); }
  StmtPtr set_at(const ValuePtr &to) const { return assign_local(8, "at", to); }

  std::string after(StmtPtr (*pass)(const StmtPtr &), const StmtPtr &body,
                    LoopKind kind = LoopKind::Serial) {
    kernel.body = pass(around(for_loop(1, "k", integer(1), n, kind, 0, body)));
    return printed();
  }
  StmtPtr around(const StmtPtr &loop) const {
    return block({declare_local(7, "value", x(integer(0))), declare_local(8, "at", integer(0)),
                  loop, y(integer(0), value), y(integer(1), cast_value(at, Float64))});
  }
  ValuePtr is(Op op, const ValuePtr &one, const ValuePtr &other) const {
    return binary_value(op, one, other);
  }
};

TEST(KeepExtremes, LanesKeepTheirOwnAndTheLoopDecidesInDoubt) {
  Searched loop;
  const std::string text =
      loop.after(keep_extremes,
                 if_then(loop.is(Op::Gt, loop.term(), loop.value), loop.set_value(loop.term())));
  EXPECT_NE(text.find("for s in range(0, strips):\n    largest = X[1 + s * 32 : 32 * s + 9] if "),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("is_open = one == 0.0 or value != value"), std::string::npos) << text;
  EXPECT_NE(text.find("for k in range(1, N):"), std::string::npos) << text;
  EXPECT_EQ(text.find("odd"), std::string::npos) << text; // no test takes what is not a number
}

TEST(KeepExtremes, WhatIsNotANumberIsNotedIfItWouldBeTaken) {
  Searched loop;
  const ValuePtr smaller = loop.is(Op::Lt, loop.value, loop.term());
  const std::string text =
      loop.after(keep_extremes, loop.set_value(select_value(smaller, loop.value, loop.term())));
  EXPECT_NE(text.find("least ="), std::string::npos) << text;
  EXPECT_NE(text.find("odd = odd or X["), std::string::npos) << text;
}

TEST(KeepExtremes, OtherLoopsStay) {
  Searched loop;
  const ValuePtr larger = loop.is(Op::Gt, loop.term(), loop.value);
  const ValuePtr apart = Line::x(mul(loop.k, integer(2)));
  const std::vector<StmtPtr> others = {
      if_then(larger, loop.set_value(Line::x(integer(0)))),               // another value
      if_then(loop.is(Op::Gt, apart, loop.value), loop.set_value(apart)), // not side by side
      if_then(loop.is(Op::Ne, loop.term(), loop.value), loop.set_value(loop.term())),
      if_then(larger, block({loop.set_value(loop.term()), loop.set_at(loop.k)})),
      block({if_then(larger, loop.set_value(loop.term())), Line::y(loop.k, loop.value)}),
  };
  for (const StmtPtr &body : others) {
    EXPECT_EQ(loop.after(keep_extremes, body).find("largest"), std::string::npos);
  }
}

TEST(FindLast, OneIterationIsLookedForFromBehind) {
  Searched loop;
  const ValuePtr is_small = loop.is(Op::Lt, loop.term(), Line::x(integer(0)));
  const std::string text = loop.after(find_last, if_then(is_small, loop.set_at(loop.k)));
  EXPECT_NE(text.find("back = back + 4"), std::string::npos) << text;
  EXPECT_NE(text.find("at = at_2"), std::string::npos) << text;
  // Whether an iteration does something depends on the ones before it.
  const ValuePtr is_new = loop.is(Op::Lt, loop.at, integer(5));
  const StmtPtr counts = if_then(both(is_small, is_new), loop.set_at(add(loop.at, integer(1))));
  EXPECT_EQ(loop.after(find_last, counts).find("back"), std::string::npos);
}

/// The loop with `body` as leave_loops makes it, whose flag is another local.
std::string after_find_first(const StmtPtr &body) {
  Searched loop;
  const auto next = local(20, "next", {Int64, 1});
  const auto left = local(21, "left", {Bool, 1});
  const ValuePtr goes_on = both(binary_value(Op::Lt, next, loop.n), unary_value(Op::Not, left));
  loop.kernel.body = loop.around(
      block({declare_local(20, "next", integer(1)), declare_local(21, "left", boolean(false)),
             while_loop(goes_on, block({let(1, "k", next), body,
                                        assign_local(20, "next", add(loop.k, integer(1)))}))}));
  find_first(loop.kernel);
  return loop.printed();
}

TEST(FindFirst, VectorsInWhichNothingHappensAreGoneOver) {
  Searched loop;
  const auto left = local(21, "left", {Bool, 1});
  const StmtPtr leaves = assign_local(21, "left", boolean(true));
  const ValuePtr is_open = unary_value(Op::Not, left);
  const ValuePtr is_it = loop.is(Op::Eq, loop.term(), Line::x(integer(0)));
  const StmtPtr stops = if_then(both(is_open, is_it), block({loop.set_at(loop.k), leaves}));
  const std::string text = after_find_first(stops);
  EXPECT_NE(text.find("goes_on = N - 1 < N and 0 < N and not left and next + 32 <= N"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("while next < N and not left:"), std::string::npos) << text;
  // What the others set is what the last one of them sets.
  const StmtPtr counts = if_then(both(is_open, unary_value(Op::Not, is_it)), loop.set_at(loop.k));
  EXPECT_NE(after_find_first(block({if_then(both(is_open, is_it), leaves), counts}))
                .find("at = next - 1"),
            std::string::npos);
}

TEST(FindFirst, LoopsWhoseOtherIterationsDoSomethingStay) {
  Searched loop;
  const auto left = local(21, "left", {Bool, 1});
  const StmtPtr leaves = assign_local(21, "left", boolean(true));
  const ValuePtr is_open = unary_value(Op::Not, left);
  const ValuePtr is_it = loop.is(Op::Eq, loop.term(), Line::x(integer(0)));
  const StmtPtr stops = if_then(both(is_open, is_it), leaves);
  const ValuePtr of_state = loop.is(Op::Eq, loop.term(), loop.value);
  const std::vector<StmtPtr> others = {
      block({stops, if_then(is_open, loop.set_at(add(loop.at, loop.k)))}),
      block({stops, if_then(is_open, Line::y(loop.k, loop.term()))}),
      block({if_then(both(is_open, of_state), leaves), loop.set_value(loop.term())}),
      if_then(both(is_open, loop.is(Op::Eq, Line::x(mul(loop.k, integer(2))), loop.value)), leaves),
  };
  for (const StmtPtr &body : others) {
    EXPECT_EQ(after_find_first(body).find("goes_on"), std::string::npos);
  }
}

TEST(AddChosenTerms, TheTestChoosesTheTerm) {
  Searched loop;
  const ValuePtr is_positive = loop.is(Op::Gt, loop.term(), Line::x(integer(0)));
  const StmtPtr sum = loop.set_value(binary_value(Op::Add, loop.value, loop.term()));
  const std::string text = loop.after(add_chosen_terms, if_then(is_positive, sum));
  EXPECT_NE(text.find("value = value + (X[k] if X[k] > X[0] else -0.0)"), std::string::npos)
      << text;
  // What the test does not read may lie outside of its array; others do more than to add.
  const StmtPtr other =
      loop.set_value(binary_value(Op::Add, loop.value, Line::x(add(loop.k, integer(1)))));
  const StmtPtr costly = loop.set_value(
      binary_value(Op::Add, loop.value, binary_value(Op::TrueDiv, loop.term(), loop.term())));
  for (const StmtPtr &stays : {other, costly, block({sum, Line::y(loop.k, loop.term())})}) {
    EXPECT_EQ(loop.after(add_chosen_terms, if_then(is_positive, stays)).find("else"),
              std::string::npos);
  }
}

} // namespace
} // namespace tilewright::test
