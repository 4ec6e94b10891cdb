// Terms whose range moves along with a result are planned as a window from 0 on.
#include "mapping/example_functions.h"
#include "planning/computation_shape.h"
#include "planning/slants.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using namespace examples;

ExprPtr number(std::int64_t value) { return constant(value, Int64); }

/// y[i] = the sum of x[q] over q from `begin` to `end`.
ComputationPtr sum_over(const ExprPtr &begin, const ExprPtr &end) {
  const auto x = input("x", {plus(times(size("N"), number(3)), size("M", 9))});
  return define("[N, M] -> { y[i] : 2 <= i < N }",
                reduce(Op::ReduceSum, {{"q", begin, end}}, access(x, {at("q")})));
}

std::vector<Slant> slants_of(const ComputationPtr &computation) {
  return find_slants(instance_space(*computation), 1);
}

TEST(Slants, OfARangeThatMovesAlong) {
  const ExprPtr begin = plus(times(at("i"), number(3)), number(-2));
  const auto slants = slants_of(sum_over(begin, plus(begin, number(7))));
  ASSERT_EQ(slants.size(), 1U);
  EXPECT_EQ(slants[0].iterator, 1U);
  EXPECT_EQ(slants[0].begin, -2);
  using Along = std::vector<std::pair<size_t, std::int64_t>>;
  EXPECT_EQ(slants[0].along, (Along{{0, 3}}));
}

TEST(Slants, OfARangeThatBeginsSomewhereElse) {
  const auto slants = slants_of(sum_over(number(5), size("M")));
  ASSERT_EQ(slants.size(), 1U);
  EXPECT_TRUE(slants[0].along.empty());
  EXPECT_EQ(slants[0].begin, 5);
  EXPECT_TRUE(slants_of(sum_over(number(0), size("M"))).empty());
}

TEST(Slants, NotOfATriangle) {
  EXPECT_TRUE(slants_of(sum_over(at("i"), size("M"))).empty());
  EXPECT_TRUE(slants_of(sum_over(number(0), plus(at("i"), number(1)))).empty());
}

TEST(Slants, TheShapeIsThatOfAWindow) {
  const ExprPtr begin = plus(at("i"), number(-2));
  const ComputationPtr window = sum_over(begin, plus(begin, number(7)));
  EXPECT_EQ(Shape(*window).extent(1), std::nullopt);
  EXPECT_EQ(Shape(*window).inner_extent(1), 7);
  EXPECT_EQ(Shape(*window).inner_extent(0), 7);
  const Shape shape = Shape::from_begin(*window, {});
  EXPECT_EQ(shape.extent(1), 7);
  EXPECT_TRUE(shape.all_contiguous(0));
  EXPECT_EQ(shape.begin(0), 2);
  EXPECT_EQ(shape.begin(1), 0);
}

} // namespace
} // namespace tilewright
