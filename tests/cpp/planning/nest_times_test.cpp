// A program's loops as nests, and what restructuring makes of them.
#include "mapping/example_functions.h"
#include "planning/auto/bound_cycles.h"
#include "planning/auto/nest_times.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

using namespace examples;

/// A[i] and C[i, j] of it, B[i, j] between them, all within i.
Mapping program(const std::string &times) {
  const auto x = input("x", {size("N")});
  const auto a = define("[N] -> { A[i] : 0 <= i < N }", access(x, {at("i")}));
  const auto b = define("[N] -> { B[i, j] : 0 <= i < N and 0 <= j < N }", access(a, {at("i")}));
  const auto c =
      define("[N] -> { C[i, j] : 0 <= i < N and 0 <= j < N }", access(b, {at("i"), at("j")}));
  return Mapping(function({c})).with({"", "set_schedule", {times}, {}});
}

const char *const together = "[N] -> { A[i] -> [0, i, 0, 0, 0]; B[i, j] -> [0, i, 1, j, 0]; "
                             "C[i, j] -> [0, i, 1, j, 7] }";

std::string text(const Nests &nests) {
  return std::get<std::string>(nests.command().arguments.front());
}

TEST(NestTimes, PlacesAreRankedAmongThoseBesideThem) {
  const auto nests = Nests::of(program(together));
  ASSERT_TRUE(nests);
  EXPECT_EQ(text(*nests), "[N] -> { A[i] -> [0, i, 0, 0, 0]; B[i, j] -> [0, i, 1, j, 0]; "
                          "C[i, j] -> [0, i, 1, j, 1] }");
  EXPECT_EQ(nests->shared("A"), 1U);
  EXPECT_EQ(nests->shared("B", "C"), 2U);
}

TEST(NestTimes, NumbersThatStandSideBySideAreOnePlace) {
  const auto nests =
      Nests::of(program("[N] -> { A[i] -> [0, 0, i, 0, 0]; B[i, j] -> [0, 1, i, j, 0]; "
                        "C[i, j] -> [1, 0, i, j, 0] }"));
  ASSERT_TRUE(nests);
  EXPECT_EQ(text(*nests), "[N] -> { A[i] -> [0, i, 0, 0, 0]; B[i, j] -> [1, i, 0, j, 0]; "
                          "C[i, j] -> [2, i, 0, j, 0] }");
}

TEST(NestTimes, DistributionKeepsTheOrderOfWhatIsApart) {
  auto nests = Nests::of(program(together));
  nests->distribute("B", 1);
  EXPECT_EQ(text(*nests), "[N] -> { A[i] -> [0, i, 0, 0, 0]; B[i, j] -> [0, i, 1, j, 0]; "
                          "C[i, j] -> [0, i, 2, j, 0] }");
  nests->distribute("B", 0);
  EXPECT_EQ(text(*nests), "[N] -> { A[i] -> [0, i, 0, 0, 0]; B[i, j] -> [1, i, 0, j, 0]; "
                          "C[i, j] -> [2, i, 0, j, 0] }");
}

TEST(NestTimes, StripsRunOneStatementAfterTheOther) {
  auto nests = Nests::of(program(together));
  nests->strip("A", 0, 8);
  EXPECT_EQ(text(*nests), "[N] -> { A[i] -> [0, i_strip = floor((i)/8), 0, i, 0, 0, 0]; "
                          "B[i, j] -> [0, i_strip = floor((i)/8), 1, i, 0, j, 0]; "
                          "C[i, j] -> [0, i_strip = floor((i)/8), 1, i, 0, j, 1] }");
}

TEST(NestTimes, IterationsOfAStripRunInsideOfAllOtherLoops) {
  auto nests = Nests::of(program(together));
  Nests later = *nests;
  nests->sink("A", 0, 8, 0);
  EXPECT_EQ(text(*nests), "[N] -> { A[i] -> [0, i_strip = floor((i + 0)/8), 0, i, 0, 0, 0]; "
                          "B[i, j] -> [0, i_strip = floor((i + 0)/8), 1, j, 0, i, 0]; "
                          "C[i, j] -> [0, i_strip = floor((i + 0)/8), 1, j, 1, i, 0] }");
  later.sink("A", 0, 8, 3);
  EXPECT_EQ(text(later),
            "[N] -> { A[i] -> [0, i_strip = floor((i + -3)/8), 0, i_lane = i + -3, 0, "
            "0, 0]; "
            "B[i, j] -> [0, i_strip = floor((i + -3)/8), 1, j, 0, i_lane = i + -3, 0]; "
            "C[i, j] -> [0, i_strip = floor((i + -3)/8), 1, j, 1, i_lane = i + -3, 0] "
            "}");
}

TEST(NestTimes, TilesRunInsideOfAllOtherLoops) {
  auto nests = Nests::of(program("[N] -> { A[i] -> [0, i, 0, 0, 0]; B[i, j] -> [1, i, 0, j, 0]; "
                                 "C[i, j] -> [1, i, 0, j, 1] }"));
  nests->sink_tiles("B", 0, 64, 4, 16);
  EXPECT_EQ(text(*nests), "[N] -> { A[i] -> [0, i, 0, 0, 0, 0, 0, 0, 0, 0, 0]; "
                          "B[i, j] -> [1, i_block = floor((i)/64), 0, j_strip = floor((j)/16), 0, "
                          "i_strip = floor((i)/4), 0, i, 0, j, 0]; "
                          "C[i, j] -> [1, i_block = floor((i)/64), 0, j_strip = floor((j)/16), 0, "
                          "i_strip = floor((i)/4), 1, i, 0, j, 0] }");
}

/// X and Y of X, each of the other's last step `away` rows up, within i and n.
std::set<std::string> bound(std::int64_t away, const std::string &times) {
  const auto x = declare("[N] -> { X[i, n] : 0 <= i < N and 0 <= n < N }");
  const auto y = declare("[N] -> { Y[i, n] : 0 <= i < N and 0 <= n < N }");
  define_on(y, "[N] -> { Y[i, n] : 0 <= i < N and 0 <= n < N }", access(x, {at("i"), at("n")}));
  const std::string later = "n > 0 and i >= " + std::to_string(away);
  define_on(x, "[N] -> { X[i, n] : not (" + later + ") }", constant(0.0, Float32));
  define_on(x, "[N] -> { X[i, n] : " + later + " }", access(y, {at("i", -away), at("n", -1)}));
  const Mapping mapping = Mapping(function({y})).with({"", "set_schedule", {times}, {}});
  return bound_in_cycles(mapping.function(), *Nests::of(mapping));
}

TEST(BoundCycles, OfTheInnermostLoopCannotBeTakenApart) {
  const char *const shared = "[N] -> { X[i, n] -> [0, i, 0, n, 0]; Y[i, n] -> [0, i, 0, n, 1] }";
  EXPECT_EQ(bound(0, shared), (std::set<std::string>{"X", "Y"}));
  EXPECT_TRUE(bound(0, "[N] -> { X[i, n] -> [0, n, 0, i, 0]; Y[i, n] -> [0, n, 1, i, 0] }").empty())
      << "the loop over i is each one's own";
}

TEST(BoundCycles, OfAnOuterLoopCan) {
  const char *const shared = "[N] -> { X[i, n] -> [0, i, 0, n, 0]; Y[i, n] -> [0, i, 0, n, 1] }";
  EXPECT_TRUE(bound(1, shared).empty());
}

TEST(NestTimes, AnotherIteratorTakesTheSharedLoop) {
  const auto x = input("x", {size("N")});
  const auto b = define("[N] -> { B[i, j] : 0 <= i < N and 0 <= j < N }", access(x, {at("i")}));
  const auto c = define("[N] -> { C[i, j, k] : 0 <= i < N and 0 <= j < N and 0 <= k < N }",
                        access(b, {at("i"), at("k")}));
  const std::string times = "[N] -> { B[i, j] -> [0, i, 0, j, 0, 0, 0]; "
                            "C[i, j, k] -> [0, i, 0, j, 1, k, 0] }";
  auto nests = Nests::of(Mapping(function({c})).with({"", "set_schedule", {times}, {}}));
  ASSERT_TRUE(nests);
  Nests behind = *nests;
  behind.reorder("C", 1, {2, 1});
  EXPECT_EQ(text(behind), "[N] -> { B[i, j] -> [0, i, 0, j, 0, 0, 0]; "
                          "C[i, j, k] -> [0, i, 0, k, 1, j, 0] }");
  nests->reorder("C", 1, {2, 1}, true);
  EXPECT_EQ(text(*nests), "[N] -> { B[i, j] -> [0, i, 0, j, 1, 0, 0]; "
                          "C[i, j, k] -> [0, i, 0, k, 0, j, 0] }");
}

TEST(NestTimes, OtherTimesAreNoNests) {
  EXPECT_FALSE(Nests::of(program("[N] -> { A[i] -> [0, i, 0, 0, 0]; B[i, j] -> [0, i, j, 0, 0]; "
                                 "C[i, j] -> [0, i, 0, j, 1] }")))
      << "a number beside a loop";
  EXPECT_FALSE(Nests::of(program("[N] -> { A[i] -> [0, floor(i/2), i, 0, 0]; "
                                 "B[i, j] -> [1, i, 1, j, 0]; C[i, j] -> [2, i, 1, j, 1] }")))
      << "a loop over a quotient";
}

} // namespace
} // namespace tilewright
