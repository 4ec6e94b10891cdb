#include "loops/build.h"
#include "passes/lane_places.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

const ValuePtr any = variable(1, "i");

/// lane // by and lane - by * (lane // by), from a place on.
std::vector<ValuePtr> of_two(std::int64_t first, std::int64_t by, int lanes) {
  const ValuePtr lane = ramp(integer(first), 1, lanes);
  const ValuePtr quotient = binary_value(Op::FloorDiv, lane, broadcast(integer(by), lanes));
  const ValuePtr times = binary_value(Op::Mul, broadcast(integer(by), lanes), quotient);
  return {binary_value(Op::Add, broadcast(any, lanes), quotient),
          binary_value(Op::Sub, lane, times)};
}

TEST(LanesAreApart, OnRamps) {
  EXPECT_TRUE(lanes_are_apart({ramp(any, 1, 8)}, 8));
  EXPECT_TRUE(lanes_are_apart({any, ramp(any, 3, 8)}, 8));
  EXPECT_FALSE(lanes_are_apart({any}, 8));
  EXPECT_FALSE(lanes_are_apart({ramp(any, 1, 8, 2, 0)}, 8));
  EXPECT_TRUE(lanes_are_apart({ramp(any, 1, 8, 2, 0), ramp(any, 0, 8, 2, 1)}, 8));
}

TEST(LanesAreApart, InLoopsOverTwoDimensions) {
  EXPECT_TRUE(lanes_are_apart(of_two(0, 2, 16), 16));
  EXPECT_TRUE(lanes_are_apart(of_two(16, 3, 16), 16));
  EXPECT_FALSE(lanes_are_apart({of_two(0, 2, 16)[0]}, 16)); // two of each
  EXPECT_FALSE(lanes_are_apart({of_two(0, 2, 16)[1]}, 16));
}

TEST(LanesAreApart, QuotientsOfWhatIsNotKnownTellNothing) {
  const ValuePtr lane = ramp(any, 1, 8);
  const ValuePtr quotient = binary_value(Op::FloorDiv, lane, broadcast(integer(2), 8));
  EXPECT_FALSE(lanes_are_apart({quotient}, 8));
  EXPECT_TRUE(lanes_are_apart({quotient, lane}, 8));
}

} // namespace
} // namespace tilewright::test
