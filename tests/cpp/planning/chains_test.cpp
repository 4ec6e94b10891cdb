// Which recurrences get chains side by side: what an iteration waits for, and how far the loops are
// skewed.
#include "analysis/legality.h"
#include "mapping/example_functions.h"
#include "planning/auto/auto_schedule.h"
#include "planning/chains.h"
#include "planning/default_tags.h"

#include <algorithm>

namespace tilewright {
namespace {

using namespace examples;

/// X[i, j] of X[i, j - 1], and of X[i - 1, j + ahead] unless rows are on their own.
std::shared_ptr<const Function> wave(std::optional<int> ahead, bool divides = true) {
  const auto a = input("A", {size("N"), size("N")});
  const auto x = declare("[N] -> { X[i,j] : 0 <= i < N and 0 <= j < N }");
  define_on(x, "[N] -> { X[i,j] : i = 0 or j = 0 or j >= N - 3 }", access(a, {at("i"), at("j")}));
  ExprPtr value = access(x, {at("i"), at("j", -1)});
  if (ahead) {
    value = plus(value, access(x, {at("i", -1), at("j", *ahead)}));
  }
  if (divides) {
    value = binary(Op::TrueDiv, value, access(a, {at("i"), at("j")}));
  }
  define_on(x, "[N] -> { X[i,j] : 0 < i and 0 < j < N - 3 }", value);
  return function({x});
}

std::optional<Chains> chains_in(const std::shared_ptr<const Function> &function) {
  const Mapping mapping(function);
  const std::vector<LoopDimension> &loops = mapping.time_space("X").dimensions;
  return find_chains(flow_graph(build_program(mapping), {"X"}),
                     {{"X", {{}, loops[0].value, loops[1].value}}});
}

TEST(Chains, TheSkewSetsChainsApart) {
  for (const int ahead : {-1, 0, 1, 2}) {
    const auto found = chains_in(wave(ahead));
    ASSERT_TRUE(found) << ahead;
    EXPECT_EQ(found->skew, ahead < 0 ? 0 : ahead + 1);
  }
}

TEST(Chains, RowsOnTheirOwnNeedNoSkew) {
  const auto found = chains_in(wave(std::nullopt));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->skew, 0);
}

TEST(Chains, NoneWhereNothingWaits) {
  const auto a = input("A", {size("N"), size("N")});
  const auto x = declare("[N] -> { X[i,j] : 0 <= i < N and 0 <= j < N }");
  define_on(x, "[N] -> { X[i,j] : i = 0 }", access(a, {at("i"), at("j")}));
  define_on(x, "[N] -> { X[i,j] : 0 < i }",
            plus(access(x, {at("i", -1), at("j")}), access(a, {at("i"), at("j")})));
  const auto function = examples::function({x});
  EXPECT_FALSE(chains_in(function));
  EXPECT_EQ(iteration_cost(*function, {{"X", "j"}}).wait, 0);
}

TEST(Chains, AnIterationWaitsForWhatTheNextOneNeeds) {
  // A sum and a division of what the iteration before has made.
  EXPECT_EQ(iteration_cost(*wave(0), {{"X", "j"}}).wait, 4 + 13);
  EXPECT_EQ(iteration_cost(*wave(0, false), {{"X", "j"}}).wait, 4);
  // Along i, too: that of the row before.
  EXPECT_EQ(iteration_cost(*wave(0), {{"X", "i"}}).wait, 4 + 13);
}

TEST(Chains, SharedNodesAreCountedOnce) {
  const auto a = input("A", {size("N")});
  const auto once =
      define("[N] -> { X[i] : 0 <= i < N }", plus(access(a, {at("i")}), access(a, {at("i")})));
  ExprPtr sum = access(a, {at("i")});
  for (int level = 0; level < 60; ++level) {
    sum = plus(sum, sum);
  }
  const auto many = define("[N] -> { X[i] : 0 <= i < N }", sum);
  const auto work = [](const ComputationPtr &x) {
    return iteration_cost(*function({x}), {{"X", "i"}}).work;
  };
  EXPECT_DOUBLE_EQ(work(many) - work(once), 59 * 0.5);
}

TEST(Chains, TheDefaultScheduleHasThemAndIsLegal) {
  const Mapping mapping = with_default_tags(Mapping(wave(1)), true, false);
  const auto &commands = mapping.schedule().commands;
  const auto gives = [&](const std::string &command) {
    return std::any_of(commands.begin(), commands.end(),
                       [&](const Command &each) { return to_string(each) == command; });
  };
  EXPECT_TRUE(gives("X.skew(\"i1\", \"j\", 2)"));
  EXPECT_TRUE(gives("X.unroll(\"i1\", 8)"));
  EXPECT_FALSE(find_violation(build_program(mapping)));
}

} // namespace
} // namespace tilewright
