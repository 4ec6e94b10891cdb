#include "loops/line.h"
#include "passes/search_blocks.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// Loops over X in which `best` and `at` are kept.
struct Kept : Line {
  std::shared_ptr<const Variable> k = variable(1, "k");
  std::shared_ptr<const Local> best = local(7, "best", {Float64, 1});
  std::shared_ptr<const Local> at = local(8, "at", {Int64, 1});

  /// best, at = value, place if condition else best, at
  StmtPtr keep(const ValuePtr &condition, const ValuePtr &value, const ValuePtr &place) const {
    const auto is_better = local(9, "is_better", {Bool, 1});
    return block({declare_local(9, "is_better", condition),
                  assign_local(7, "best", select_value(is_better, value, best)),
                  assign_local(8, "at", select_value(is_better, place, at))});
  }
  std::string searched(const StmtPtr &body, LoopKind kind = LoopKind::Serial) {
    kernel.body = search_blocks(
        block({declare_local(7, "best", x(integer(0))), declare_local(8, "at", integer(0)),
               for_loop(1, "k", integer(1), n, kind, 0, body),
               y(integer(0), cast_value(at, Float64)), y(n, best)}));
    return printed();
  }
  ValuePtr beyond(const ValuePtr &value, Op op = Op::Gt) const {
    return binary_value(op, value, best);
  }
};

TEST(SearchBlocks, ValuesFirstAndOnePositionBehind) {
  Kept kept;
  const std::string text =
      kept.searched(kept.keep(kept.beyond(Line::x(kept.k)), Line::x(kept.k), kept.k));
  EXPECT_NE(text.find("found = block"), std::string::npos) << text;
  EXPECT_NE(text.find("most = most fmax X["), std::string::npos) << text;   // no NaN is larger
  EXPECT_NE(text.find("for k in range(1, N):"), std::string::npos) << text; // of few terms
}

TEST(SearchBlocks, TheFirstNanCountsWhereTheLoopSaysSo) {
  Kept kept;
  const ValuePtr term = Line::x(kept.k);
  const ValuePtr nan_first =
      both(binary_value(Op::Ne, term, term), binary_value(Op::Eq, kept.best, kept.best));
  const ValuePtr less = kept.beyond(term, Op::Lt);
  const std::string text = kept.searched(kept.keep(either(less, nan_first), term, kept.k));
  EXPECT_NE(text.find("most = min(most, X["), std::string::npos) << text;
  // The same as choices: less or (X != X and best == best).
  Kept chosen;
  const ValuePtr is_nan = binary_value(Op::Ne, term, term);
  const ValuePtr is_first = binary_value(Op::Eq, chosen.best, chosen.best);
  const ValuePtr choice =
      select_value(less, boolean(true), select_value(is_nan, is_first, boolean(false)));
  const std::string same = chosen.searched(chosen.keep(choice, term, chosen.k));
  const size_t plain = text.find("else:\n");
  EXPECT_EQ(same.substr(0, plain), text.substr(0, plain));
}

TEST(SearchBlocks, WhateverGoesWithTheBestValueIsTakenFromItsIteration) {
  Kept kept;
  const ValuePtr term = Line::x(kept.k);
  const std::string text =
      kept.searched(kept.keep(kept.beyond(term), term, mul(kept.k, integer(2))));
  EXPECT_NE(text.find("best = X[at_2]\n"), std::string::npos) << text;
  EXPECT_NE(text.find("at = at_2 * 2\n"), std::string::npos) << text;
}

TEST(SearchBlocks, LoopsThatKeepSomethingElseStay) {
  Kept kept;
  const ValuePtr term = Line::x(kept.k);
  const ValuePtr better = kept.beyond(term);
  const ValuePtr two = mul(kept.k, integer(2));
  const StmtPtr as_it_should_be = kept.keep(better, term, kept.k);
  const std::vector<StmtPtr> others = {
      kept.keep(kept.beyond(term, Op::Ge), term, kept.k),         // the last one
      kept.keep(better, Line::x(two), kept.k),                    // another value
      kept.keep(kept.beyond(Line::x(two)), Line::x(two), kept.k), // not side by side
      block({as_it_should_be, Line::y(kept.k, kept.best)}),
  };
  for (const StmtPtr &body : others) {
    const std::string text = kept.searched(body);
    EXPECT_EQ(text.find("found"), std::string::npos) << text;
  }
  EXPECT_EQ(kept.searched(as_it_should_be, LoopKind::Parallel).find("found"), std::string::npos);
}

} // namespace
} // namespace tilewright::test
