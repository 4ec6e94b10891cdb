#include "loops/estimate_work.h"
#include "loops/line.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

TEST(WorkBounds, ARestOfARowHasFewIterations) {
  const ValuePtr n = parameter_value(0, "N");
  const auto most = [](const ValuePtr &lower, const ValuePtr &upper) {
    const auto loop = for_loop(1, "i", lower, upper, LoopKind::Serial, 0,
                               Line::y(integer(0), Line::x(integer(0))));
    return WorkBounds::max_iterations(*loop);
  };
  const auto tiles = [&](std::int64_t more, std::int64_t size) {
    return floor_div(add(n, integer(more)), integer(size));
  };
  EXPECT_EQ(most(tiles(0, 32), tiles(31, 32)), 1);
  EXPECT_EQ(most(tiles(0, 32), tiles(32, 32)), 1);
  EXPECT_EQ(most(tiles(0, 32), tiles(33, 32)), 2);
  EXPECT_EQ(most(tiles(-5, 32), tiles(95, 32)), 4);
  EXPECT_EQ(most(tiles(31, 32), tiles(0, 32)), 0);
  EXPECT_EQ(most(tiles(0, 32), add(tiles(31, 32), integer(2))), 3);
  EXPECT_EQ(most(tiles(0, 16), tiles(31, 32)), std::nullopt);
  EXPECT_EQ(most(integer(0), tiles(31, 32)), std::nullopt);
  EXPECT_EQ(most(tiles(0, 32), mul(integer(2), tiles(31, 32))), std::nullopt);
  // The bound is met, and by no pair of sizes passed.
  for (const auto &[more, size] : {std::pair{31, 32}, {33, 32}, {7, 3}, {1, 5}}) {
    std::int64_t largest = 0;
    for (std::int64_t value = -100; value < 100; ++value) {
      const auto floor = [](std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
      largest = std::max(largest, floor(value + more, size) - floor(value, size));
    }
    EXPECT_EQ(most(tiles(0, size), tiles(more, size)), largest) << more << " / " << size;
  }
}

/// For each tile of 16 of 1,000 elements: `then` where the tile is a whole one, else what it has of
/// the row, one by one.
StmtPtr tiles(const StmtPtr &then) {
  const ValuePtr tile = variable(1, "t");
  const ValuePtr first = mul(integer(16), tile);
  const ValuePtr is_whole = binary_value(Op::Ge, integer(1000), add(first, integer(16)));
  const StmtPtr store = Line::y(integer(0), Line::x(integer(0)));
  const auto rest =
      for_loop(2, "v", integer(0), sub(integer(1000), first), LoopKind::Serial, 0, store);
  return for_loop(1, "t", integer(0), integer(63), LoopKind::Serial, 0,
                  if_then(is_whole, then, rest));
}

TEST(EstimatedWork, WhatIsLeftAtABorderIsLessThanATile) {
  const StmtPtr store = Line::y(integer(0), Line::x(integer(0)));
  const auto one = as_integer(estimated_work(*store));
  const auto all = as_integer(estimated_work(*tiles(store)));
  ASSERT_TRUE(one && all);
  EXPECT_EQ(*all, 63 * 15 * *one); // and not hundreds of iterations for each
}

TEST(EstimatedWork, OfChoicesThatAreKnownBeforeTheOneThatRuns) {
  const ValuePtr n = parameter_value(0, "N");
  const StmtPtr store = Line::y(integer(0), Line::x(integer(0)));
  const StmtPtr many = for_loop(1, "i", integer(0), integer(100), LoopKind::Serial, 0, store);
  const auto one = estimated_work(*store);
  const auto choice = estimated_work(*if_then(binary_value(Op::Eq, n, integer(1)), many, store));
  const auto *select = as<Select>(choice);
  ASSERT_NE(select, nullptr);
  EXPECT_TRUE(same_value(select->otherwise(), one));
  // Of what data decide, the larger one.
  const ValuePtr data = binary_value(Op::Lt, Line::x(integer(0)), Line::x(integer(1)));
  EXPECT_EQ(as_integer(estimated_work(*if_then(data, store, many))),
            as_integer(estimated_work(*many)));
}

} // namespace
} // namespace tilewright::test
