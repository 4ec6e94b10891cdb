#include "loops/line.h"
#include "passes/settle_tests.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// Loops over X in which a local of number 7, `at`, remembers places.
struct Places : Line {
  std::shared_ptr<const Variable> k = variable(1, "k");
  std::shared_ptr<const Local> at;
  int lanes;

  explicit Places(int lanes = 1) : at(local(7, "at", {Int64, lanes})), lanes(lanes) {}

  ValuePtr wide(const ValuePtr &value) const { return broadcast(value, lanes); }
  /// at = next if X[k] > 0 and asked < at else at
  StmtPtr remember(const ValuePtr &next, const ValuePtr &asked) const {
    const ValuePtr is_first = binary_value(Op::Lt, asked, at);
    const ValuePtr is_large = binary_value(Op::Gt, x(k), constant_of(0.0, Float64));
    return assign_local(7, "at", select_value(both(wide(is_large), is_first), next, at));
  }
  std::string settled(const StmtPtr &body, LoopKind kind = LoopKind::Serial) {
    const ValuePtr found = lanes == 1 ? ValuePtr(at) : reduce_lanes(Op::Min, at);
    kernel.body = settle_tests(
        block({declare_local(7, "at", wide(n)), for_loop(1, "k", integer(2), n, kind, 0, body),
               y(integer(0), cast_value(found, Float64))}));
    return printed();
  }
};

TEST(SettleTests, WhatDoesNotHoldOnceIsNotAskedAgain) {
  Places places;
  EXPECT_EQ(places.settled(places.remember(places.k, places.k)),
            "at = N\n"
            "if 2 < N:\n"
            "  at = 2 if X[2] > 0.0 and 2 < at else at\n"
            "  if at <= 2:\n"
            "    for k in range(3, N):\n"
            "      at = at\n"
            "  else:\n"
            "    for k in range(3, N):\n"
            "      at = k if X[k] > 0.0 and k < at else at\n"
            "Y[0] = float64(at)\n");
}

TEST(SettleTests, ThroughOtherNamesAndInLanes) {
  Places places(4);
  const ValuePtr place = ramp(mul(places.k, integer(4)), 1, 4);
  const auto before = local(8, "before", places.at->type);
  const ValuePtr better = binary_value(Op::Lt, place, before);
  const std::string text =
      places.settled(block({declare_local(8, "before", places.at),
                            assign_local(7, "at", select_value(better, place, before))}));
  EXPECT_NE(text.find("if reduce(&, at <= 8 + lanes(4)):"), std::string::npos) << text;
  EXPECT_NE(text.find("at = k * 4 + lanes(4) if False else before_2"), std::string::npos) << text;
}

TEST(SettleTests, WhatMayHoldLaterIsAskedAgain) {
  Places places;
  const ValuePtr falling = sub(integer(0), places.k);
  const ValuePtr later = add(places.k, integer(1));
  for (const StmtPtr &body :
       {places.remember(falling, falling), places.remember(later, places.k),
        places.remember(places.n, places.k),
        block({places.remember(places.k, places.k), assign_local(7, "at", places.n)})}) {
    const std::string text = places.settled(body);
    EXPECT_EQ(text.find("False"), std::string::npos) << text;
  }
  const std::string text = places.settled(places.remember(places.k, places.k), LoopKind::Parallel);
  EXPECT_EQ(text.find("False"), std::string::npos) << text;
}

} // namespace
} // namespace tilewright::test
