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

} // namespace
} // namespace tilewright::test
