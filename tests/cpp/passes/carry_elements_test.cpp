#include "loops/line.h"
#include "passes/carry_elements.h"
#include "passes/simplify_indices.h"

#include <gtest/gtest.h>

namespace tilewright::test {
namespace {

class CarryElements : public testing::Test {
protected:
  Line line;
  const std::shared_ptr<const Variable> k = variable(1, "k");
  const ValuePtr n = line.n;

  ValuePtr at(std::int64_t offset) const { return add(k, integer(offset)); }
  ValuePtr y(const ValuePtr &place) const { return load(1, "Y", {Float64, 1}, {place}); }
  ValuePtr plus(const ValuePtr &a, const ValuePtr &b) const { return binary_value(Op::Add, a, b); }

  std::string after(const StmtPtr &body) { return after(body, integer(2), n); }
  std::string after(const StmtPtr &body, const ValuePtr &lower, const ValuePtr &upper) {
    line.kernel.body = simplify_indices(
        carry_elements(for_loop(1, "k", lower, upper, LoopKind::Serial, 0, body)), {});
    return line.printed();
  }
  /// Whether anything is kept.
  bool keeps(const StmtPtr &body) { return after(body).find("last") != std::string::npos; }
};

TEST_F(CarryElements, OfTheLastIterations) {
  const StmtPtr recurrence = Line::y(k, plus(plus(Line::x(k), y(at(-2))), y(at(-1))));
  EXPECT_EQ(after(recurrence), "if 2 < N:\n"
                               "  last = Y[1]\n"
                               "  last_2 = Y[0]\n"
                               "  for k in range(2, N):\n"
                               "    now = X[k] + last_2 + last\n"
                               "    Y[k] = now\n"
                               "    last_2 = last\n"
                               "    last = now\n");
}

TEST_F(CarryElements, OfThisIterationBehindTheStore) {
  const StmtPtr scan = Line::y(k, plus(y(at(-1)), Line::x(k)));
  const StmtPtr twice = store(0, "X", {k}, plus(y(k), y(k)));
  line.kernel.buffers[0].is_written = true;
  EXPECT_EQ(after(block({scan, twice})), "if 2 < N:\n"
                                         "  last = Y[1]\n"
                                         "  for k in range(2, N):\n"
                                         "    now = last + X[k]\n"
                                         "    Y[k] = now\n"
                                         "    X[k] = now + now\n"
                                         "    last = now\n");
  // Before the store, an element is what it was before.
  EXPECT_NE(after(block({twice, scan})).find("X[k] = Y[k] + Y[k]"), std::string::npos);
}

TEST_F(CarryElements, ShortLoopsAreWrittenOut) {
  line.kernel.buffers[1].extents = {n, integer(4)};
  const auto s = variable(2, "s");
  const auto element = [&](const ValuePtr &row, const ValuePtr &column) {
    return load(1, "Y", {Float64, 1}, {row, column});
  };
  const auto section =
      store(1, "Y", {k, s}, plus(element(k, sub(s, integer(1))), element(at(-1), s)));
  const auto sections = [&](std::int64_t end) {
    return block({store(1, "Y", {k, integer(0)}, Line::x(k)),
                  for_loop(2, "s", integer(1), integer(end), LoopKind::Serial, 0, section)});
  };
  EXPECT_EQ(after(sections(3)), "if 2 < N:\n"
                                "  last = Y[1, 1]\n"
                                "  last_2 = Y[1, 2]\n"
                                "  for k in range(2, N):\n"
                                "    Y[k, 0] = X[k]\n"
                                "    now = Y[k, 0] + last\n"
                                "    Y[k, 1] = now\n"
                                "    now_2 = now + last_2\n"
                                "    Y[k, 2] = now_2\n"
                                "    last = now\n"
                                "    last_2 = now_2\n");
  // Many sections are a loop, which keeps the section before.
  EXPECT_NE(after(sections(40)).find("last = Y[k, 0]"), std::string::npos);
}

TEST_F(CarryElements, ChainsSideBySide) {
  const auto chain = [&](std::int64_t begin) {
    return store(1, "Y", {at(begin)}, plus(y(at(begin - 1)), Line::x(at(begin))));
  };
  EXPECT_EQ(after(block({chain(0), chain(100)})), "if 2 < N:\n"
                                                  "  last = Y[1]\n"
                                                  "  last_2 = Y[101]\n"
                                                  "  for k in range(2, N):\n"
                                                  "    now = last + X[k]\n"
                                                  "    Y[k] = now\n"
                                                  "    now_2 = last_2 + X[k + 100]\n"
                                                  "    Y[k + 100] = now_2\n"
                                                  "    last = now\n"
                                                  "    last_2 = now_2\n");
  // The one would overwrite what the other keeps.
  EXPECT_FALSE(keeps(block({chain(0), chain(3)})));
}

TEST_F(CarryElements, Lanes) {
  line.kernel.buffers[1].extents = {n, integer(16)};
  const auto lanes = [&](std::int64_t first) { return ramp(integer(first), 1, 8); };
  const auto row = [&](const ValuePtr &place, std::int64_t first) {
    return load(1, "Y", {Float64, 8}, {place, lanes(first)});
  };
  const auto x = broadcast(Line::x(k), 8);
  EXPECT_EQ(after(store(1, "Y", {k, lanes(0)}, plus(row(at(-1), 0), x))),
            "if 2 < N:\n"
            "  last = Y[1, 0 : 8]\n"
            "  for k in range(2, N):\n"
            "    now = last + X[k]\n"
            "    Y[k, 0 : 8] = now\n"
            "    last = now\n");
  // Lanes of another store may lie over these, and a shifted row is another vector.
  EXPECT_FALSE(keeps(block(
      {store(1, "Y", {k, lanes(0)}, plus(row(at(-1), 0), x)), store(1, "Y", {k, lanes(4)}, x)})));
  EXPECT_FALSE(keeps(store(1, "Y", {k, lanes(0)}, plus(row(at(-1), 1), x))));
}

TEST_F(CarryElements, WhatStaysInMemory) {
  const ValuePtr x = Line::x(k);
  // Too long ago, later, at another speed, at a place that data give, or of the whole loop.
  for (const ValuePtr &place :
       {at(-5), at(1), mul(integer(2), k), cast_value(x, Int64), integer(0)}) {
    EXPECT_FALSE(keeps(Line::y(k, plus(y(place), x)))) << after(Line::y(k, plus(y(place), x)));
  }
  // Another store of the element, one iteration later, and one that may not happen.
  EXPECT_FALSE(keeps(block({Line::y(k, plus(y(at(-1)), x)), Line::y(at(-1), x)})));
  EXPECT_FALSE(keeps(if_then(binary_value(Op::Gt, x, y(at(-1))), Line::y(k, plus(y(at(-1)), x)))));
  // A term of a reduction that passes may reorder.
  EXPECT_FALSE(keeps(store(1, "Y", {k}, plus(y(k), y(at(-1))), Op::Add)));
  // A few iterations are no loop to keep anything in.
  EXPECT_EQ(after(Line::y(k, plus(y(at(-1)), x)), integer(2), integer(6)).find("last"),
            std::string::npos);
}

TEST_F(CarryElements, NothingIsReadBeforeTheLoopThatMayNotBeThere) {
  const auto first = binary_value(Op::Ge, k, integer(4));
  const auto chosen = select_value(first, y(at(-2)), constant_of(0.0, Float64));
  EXPECT_FALSE(keeps(Line::y(k, plus(chosen, Line::x(k)))));
  // What is read anyway, one iteration ago, does not reach as far.
  const std::string text = after(Line::y(k, plus(chosen, y(at(-1)))));
  EXPECT_NE(text.find("Y[k - 2] if k >= 4 else 0.0"), std::string::npos) << text;
  EXPECT_NE(text.find("last = Y[1]"), std::string::npos) << text;
  EXPECT_EQ(text.find("last_2"), std::string::npos) << text;
}

TEST_F(CarryElements, HalvesMayBeWiderInRegisters) {
  line.kernel.buffers[1].type = Float16;
  const auto half = load(1, "Y", {Float16, 1}, {at(-1)});
  EXPECT_FALSE(keeps(Line::y(k, plus(half, cast_value(Line::x(k), Float16)))));
}

} // namespace
} // namespace tilewright::test
