// What the planner that may reorder finds, and how much of isl's work that takes: counted, not
// timed.
#include "analysis/legality.h"
#include "mapping/example_functions.h"
#include "planning/auto/auto_schedule.h"
#include "planning/auto/bands.h"

#include <algorithm>

namespace tilewright {
namespace {

using namespace examples;

/// X[t, i] of its neighbours X[t - 1, i - 1] and X[t - 1, i + 1].
std::shared_ptr<const Function> stencil() {
  const auto x = input("x", {size("N")});
  const auto a = declare("[N, T] -> { X[t,i] : 0 <= t <= T and 0 <= i < N }");
  define_on(a, "[N, T] -> { X[t,i] : t = 0 }", access(x, {at("i")}));
  define_on(a, "[N, T] -> { X[t,i] : t > 0 and 0 < i < N - 1 }",
            plus(access(a, {at("t", -1), at("i", -1)}), access(a, {at("t", -1), at("i", 1)})));
  define_on(a, "[N, T] -> { X[t,i] : t > 0 and (i = 0 or i = N - 1) }",
            access(a, {at("t", -1), at("i")}));
  const auto r = define("[N, T] -> { R[i] : 0 <= i < N }", access(a, {size("T"), at("i")}));
  return function({r});
}

/// C0, C1, ...: each adds its own neighbours of the one before.
std::shared_ptr<const Function> chain(int length) {
  ComputationPtr before = input("x", {size("N")});
  for (int c = 0; c < length; ++c) {
    const std::string name = "C" + std::to_string(c);
    before = define("[N] -> { " + name + "[i] : 0 <= i < N }",
                    plus(access(before, {at("i")}), constant(1.0, Float32)));
  }
  return function({before});
}

FlowGraph graph_of(const std::shared_ptr<const Function> &function) {
  const Program program = build_program(Mapping(function));
  std::set<std::string> names;
  for (const Statement &statement : program.statements) {
    names.insert(statement.computation->name);
  }
  return flow_graph(program, names);
}

bool gives(const Mapping &mapping, const std::string &command) {
  const auto &commands = mapping.schedule().commands;
  return std::any_of(commands.begin(), commands.end(),
                     [&](const Command &each) { return to_string(each) == command; });
}

TEST(AutoSchedule, ARecurrenceIsAGroupOfItsOwn) {
  const FlowGraph graph = graph_of(stencil());
  const std::vector<std::vector<std::string>> expected = {{"X"}, {"R"}};
  EXPECT_EQ(components(graph), expected);
  EXPECT_TRUE(is_recurrent(graph, {"X"}));
  EXPECT_FALSE(is_recurrent(graph, {"R"}));
}

TEST(AutoSchedule, ABandHasSkewedLoops) {
  const auto bands = find_bands(graph_of(stencil()), {"X"});
  ASSERT_TRUE(bands);
  ASSERT_EQ(bands->size(), 1U);
  EXPECT_TRUE(bands->front().permutable);
  EXPECT_EQ(bands->front().coincident, std::vector<bool>({false, false}));
  ASSERT_EQ(bands->front().loops.at("X").size(), 2U);
}

TEST(AutoSchedule, BeyondItsLimitIslFindsNoBand) {
  EXPECT_FALSE(find_bands(graph_of(stencil()), {"X"}, 10));
}

TEST(AutoSchedule, AStencilIsTiledInTime) {
  const AutoSchedule found = auto_schedule(Mapping(stencil()), true);
  EXPECT_FALSE(find_violation(build_program(found.mapping)));
  EXPECT_TRUE(gives(found.mapping, "X.skew(\"t\", \"i\", 1)"));
  EXPECT_TRUE(gives(found.mapping, "X.storage_fold(\"t\", 2)"));
  EXPECT_TRUE(std::any_of(found.decisions.begin(), found.decisions.end(), [](const auto &each) {
    return each.about == "X" && each.text.starts_with("tiles of ");
  }));
}

/// Operations of isl for a chain, less than `limit`.
bool is_planned_within(int length, std::uint64_t limit) {
  const Mapping mapping(chain(length));
  try {
    const OperationLimit tight(limit);
    const AutoSchedule found = auto_schedule(mapping, true);
    EXPECT_FALSE(found.decisions.empty());
    return true;
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Limit);
    return false;
  }
}

TEST(AutoSchedule, WorkGrowsWithTheLengthOfAChain) {
  constexpr std::uint64_t for_each = 6'000;
  for (const int length : {25, 100, 500}) {
    EXPECT_TRUE(is_planned_within(length, for_each * static_cast<std::uint64_t>(length)))
        << length << " statements";
  }
  EXPECT_FALSE(is_planned_within(500, for_each)); // the limit is one
}

} // namespace
} // namespace tilewright
