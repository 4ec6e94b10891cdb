#include "loops/line.h"
#include "passes/hold_lanes.h"
#include "passes/promote_accumulators.h"
#include "passes/simplify_indices.h"
#include "passes/vectorize_loops.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// for q in range(0, terms): for x in range(lower, upper), 16 lanes: Y[x] = Y[x] + X[x - q] * X[q]
Line windows(const ValuePtr &lower, const ValuePtr &upper, std::int64_t terms) {
  Line line;
  const auto q = variable(1, "q");
  const auto x = variable(2, "x");
  const auto term = binary_value(Op::Mul, Line::x(sub(x, q)), Line::x(q));
  const auto element = load(1, "Y", {Float64, 1}, {x});
  const auto sum = store(1, "Y", {x}, binary_value(Op::Add, element, term), Op::Add);
  line.kernel.body = for_loop(1, "q", integer(0), integer(terms), LoopKind::Serial, 0,
                              for_loop(2, "x", lower, upper, LoopKind::Vector, 16, sum));
  line.kernel.body = simplify_indices(hold_lanes(line.kernel.body, {}), {});
  return line;
}

TEST(HoldLanes, AVectorHasTheLanesOfAllTermsOfAWindow) {
  const auto q = variable(1, "q");
  EXPECT_EQ(windows(q, add(q, integer(14)), 3).printed(), "for q in range(0, 3):\n"
                                                          "  for x in range(0, 16):  # vector(16)\n"
                                                          "    sum = Y[x]\n"
                                                          "    shared = X[q]\n"
                                                          "    if q <= x and x < q + 14:\n"
                                                          "      sum = sum + X[x - q] * shared\n"
                                                          "    else:\n"
                                                          "      sum = sum\n"
                                                          "    Y[x] = sum\n");
}

TEST(HoldLanes, SoTheSumIsARegister) {
  const auto q = variable(1, "q");
  Line line = windows(q, add(q, integer(14)), 3);
  line.kernel.body = promote_accumulators(vectorize_loops(line.kernel.body, {4}));
  EXPECT_EQ(line.printed(),
            "acc = Y[0 : 16]\n"
            "for q in range(0, 3):\n"
            "  sum = acc\n"
            "  shared = X[q]\n"
            "  holds = q <= 0 + lanes(16) and 0 + lanes(16) < q + 14\n"
            "  sum = sum + masked(X[0 - q : 16 - q], holds) * shared if holds else sum\n"
            "  acc = sum\n"
            "Y[0 : 16] = acc\n");
}

TEST(HoldLanes, OtherLoopsStayAsTheyAre) {
  const auto q = variable(1, "q");
  const auto is_kept = [](const Line &line) {
    Line same = line;
    return same.printed().find("sum") == std::string::npos;
  };
  EXPECT_FALSE(is_kept(windows(q, add(q, integer(4)), 13)));
  EXPECT_TRUE(is_kept(windows(q, add(q, integer(4)), 14))) << "more lanes than the vector has";
  EXPECT_TRUE(is_kept(windows(mul(q, integer(2)), add(q, integer(14)), 3))) << "lanes in between";
  EXPECT_TRUE(is_kept(windows(q, integer(2), 3))) << "the last term has none";
  EXPECT_TRUE(is_kept(windows(integer(0), integer(16), 3))) << "all terms have all lanes";
  EXPECT_TRUE(is_kept(windows(maximum(integer(0), sub(q, integer(9))), integer(16), 40)))
      << "most terms have all lanes";
}

} // namespace
} // namespace tilewright::test
