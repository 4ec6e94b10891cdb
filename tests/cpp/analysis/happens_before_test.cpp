// Where the times of two instances differ first.
#include "analysis/happens_before.h"
#include "mapping/commands.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;

/// The statement C of C[i, j] = A[i, j] + 1, and its pairs of instances that `condition` tells.
struct Pairs {
  explicit Pairs(const std::string &condition)
      : program(build_program(Mapping(map_2d()))),
        pairs(isl_context(),
              "[N, M] -> { C[i, j] -> C[a, b] : 0 <= i, a < N and 0 <= j, b < M and " + condition +
                  " }") {}

  bool differ(const std::vector<size_t> &levels, bool forward = false) const {
    const Statement &c = statement(program, "C");
    return differ_first_at(levels, c, c, pairs, forward);
  }

  Program program;
  isl::map pairs;
};

TEST(HappensBefore, TimesThatDifferFurtherOutDoNotDifferFirstFurtherIn) {
  const Pairs next_row("a = i + 1 and b = j + 1");
  EXPECT_TRUE(next_row.differ({0}));
  EXPECT_FALSE(next_row.differ({1}));
}

TEST(HappensBefore, LoopsBehindTheFirstOneCountForTimesThatAreEqualThere) {
  const Pairs in_a_row("a = i and b = j + 1");
  EXPECT_FALSE(in_a_row.differ({0}));
  EXPECT_TRUE(in_a_row.differ({0, 1}));
}

TEST(HappensBefore, ForwardTakesSmallerTimesOfTheFirstOnly) {
  const Pairs back("a = i and b = j - 1");
  EXPECT_TRUE(back.differ({1}));
  EXPECT_FALSE(back.differ({1}, true));
}

TEST(HappensBefore, WhatDiffersFurtherOutIsBeforeAndNotAskedFurtherIn) {
  const Pairs pairs("a > i");
  const Statement &c = statement(pairs.program, "C");
  EXPECT_TRUE(not_before(pairs.program, c, c, pairs.pairs).empty());
  const std::vector<UnorderedPairs> wrong =
      not_before(pairs.program, c, c, Pairs("a = i and b < j").pairs);
  ASSERT_EQ(wrong.size(), 1u);
  EXPECT_EQ(wrong[0].level, 1);
}

} // namespace
} // namespace tilewright
