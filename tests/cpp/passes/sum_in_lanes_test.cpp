#include "loops/line.h"
#include "passes/sum_in_lanes.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

/// Loops over X that add to `total`.
struct Summed : Line {
  std::shared_ptr<const Variable> k = variable(1, "k");
  std::shared_ptr<const Local> total = local(7, "total", {Float64, 1});

  StmtPtr adds(const ValuePtr &term, bool any_order = true) const {
    const auto sum = std::static_pointer_cast<AssignLocal>(
        copy_statement(*assign_local(7, "total", binary_value(Op::Add, total, term), Op::Add)));
    sum->any_order = any_order;
    return sum;
  }
  std::string summed(const StmtPtr &body, const ValuePtr &upper, LoopKind kind = LoopKind::Serial) {
    kernel.body = sum_in_lanes(
        block({declare_local(7, "total", zero_of(Float64)),
               for_loop(1, "k", integer(0), upper, kind, 0, body), y(integer(0), total)}));
    return printed();
  }
  bool has_lanes(const StmtPtr &body) { return summed(body, n).find("sums") != std::string::npos; }
};

TEST(SumInLanes, TermsThatLieSideBySide) {
  Summed given;
  const std::string text = given.summed(given.adds(Line::x(given.k)), given.n);
  for (const char *part :
       {"if N >= 16:\n", "strips = N // 32\n", "vectors = N // 8\n", "for s in range(0, strips):\n",
        "for v in range(strips * 4, vectors):\n", "for k in range(vectors * 8, N):\n",
        "else:\n  for k in range(0, N):\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << text;
  }
}

TEST(SumInLanes, WhatStaysOneAfterTheOther) {
  Summed given;
  const ValuePtr x = Line::x(given.k);
  EXPECT_TRUE(given.has_lanes(given.adds(binary_value(Op::Mul, x, x))));
  EXPECT_FALSE(given.has_lanes(given.adds(x, false))) << "an order that was asked for";
  EXPECT_FALSE(given.has_lanes(given.adds(Line::x(mul(integer(2), given.k)))));
  EXPECT_FALSE(given.has_lanes(given.adds(Line::x(integer(3))))) << "the same term each time";
  EXPECT_FALSE(given.has_lanes(given.adds(binary_value(Op::Mul, x, given.total))));
  EXPECT_FALSE(given.has_lanes(if_then(binary_value(Op::Gt, x, zero_of(Float64)), given.adds(x))));
  EXPECT_EQ(given.summed(given.adds(x), given.n, LoopKind::Parallel).find("sums"),
            std::string::npos);
}

TEST(SumInLanes, ShortLoops) {
  Summed given;
  EXPECT_EQ(given.summed(given.adds(Line::x(given.k)), integer(15)).find("sums"),
            std::string::npos);
  EXPECT_NE(given.summed(given.adds(Line::x(given.k)), integer(16)).find("sums"),
            std::string::npos);
}

} // namespace
} // namespace tilewright::test
