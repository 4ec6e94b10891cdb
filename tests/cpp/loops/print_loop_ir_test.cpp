#include "loops/line.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

TEST(Print, MinimalParentheses) {
  Line line;
  const auto n = line.n;
  const auto x = Line::x(integer(0));
  const auto y = Line::x(integer(1));
  line.kernel.body =
      Line::y(floor_div(sub(n, sub(n, integer(2))), integer(2)),
              binary_value(Op::Mul, binary_value(Op::Sub, x, binary_value(Op::Sub, x, y)),
                           unary_value(Op::Neg, y)));
  EXPECT_EQ(line.printed(), "Y[(N - (N - 2)) // 2] = (X[0] - (X[0] - X[1])) * -X[1]\n");
}

} // namespace
} // namespace tilewright::test
