// fix, specialize and when_work on small functions: what they say of parameters, and what is
// refused.
#include "mapping/command_table.h"
#include "mapping/commands.h"
#include "mapping/example_functions.h"
#include "mapping/state_text.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t four = 4;
constexpr std::int64_t eight = 8;

Command of_function(const std::string &name, std::vector<Argument> arguments) {
  return command("", name, std::move(arguments));
}

bool is_within(const isl::set &set, const std::string &text) {
  return set.is_subset(isl::set(isl_context(), text)).is_true();
}

TEST(Fix, TheContextAndTheProgramKnowTheValue) {
  const Mapping plain(matmul());
  const Mapping fixed = plain.with(of_function("fix", {"N", four, "M", eight}));
  EXPECT_TRUE(is_within(fixed.function().context, "[N, M] -> { : N = 4 and M = 8 }"));
  EXPECT_FALSE(is_within(plain.function().context, "[N] -> { : N = 4 }"));
  const Program program = build_program(fixed);
  EXPECT_EQ(program.fixed, (std::map<std::string, std::int64_t>{{"N", 4}, {"M", 8}}));
  EXPECT_TRUE(build_program(plain).fixed.empty());
  std::vector<std::string> extents;
  for (const ExprPtr &extent : program.buffers.back().extents) {
    extents.push_back(to_string(extent));
  }
  EXPECT_THAT(extents, ElementsAre("4", "8"));
}

TEST(Fix, ExpressionsHaveNumbers) {
  const auto x = input("x", {size("P")});
  const auto c = define("[N, M] -> { C[i,j] : 0 <= i < N and 0 <= j < M }",
                        access(x, {plus(times(at("i"), size("M")), at("j"))}));
  const ExprPtr room = binary(Op::Ge, size("P"), times(whole(4), size("M")));
  const auto declared = function({c}, {room, binary(Op::Le, size("N"), whole(4))});
  const Mapping fixed = Mapping(declared).with(of_function("fix", {"M", eight}));
  const Computation &known = **fixed.function().find("C");
  EXPECT_EQ(to_string(known.pieces.front().value), "x[i * 8 + j]");
  EXPECT_EQ(to_string(c->pieces.front().value), "x[i * M + j]") << "the declaration stays";
  // Where the last rows may be outside, the subscript stays one that is checked.
  const Mapping small = Mapping(function({c}, {room})).with(of_function("fix", {"M", eight}));
  EXPECT_EQ(to_string((*small.function().find("C"))->pieces.front().value), "x[i * M + j]");
}

TEST(Fix, IsRefused) {
  const Mapping mapping(matmul());
  EXPECT_THAT(refusal(mapping, of_function("fix", {"Q", four})),
              HasSubstr("f.fix(Q=4): 'Q' is no parameter of f; its parameters are: N, K, M"));
  EXPECT_THAT(refusal(mapping, of_function("fix", {"N", std::int64_t{-1}})),
              HasSubstr("no call of f has such parameters, where"));
  EXPECT_THAT(refusal(mapping.with(of_function("fix", {"N", four})),
                      of_function("fix", {"M", four, "N", eight})),
              HasSubstr("f.fix(M=4, N=8): N is fixed at 4 already"));
  EXPECT_THAT(refusal(mapping, of_function("fix", {"N"})), HasSubstr("expected a value for each"));
  EXPECT_THAT(refusal(mapping, command("C", "fix", {"N", four})),
              HasSubstr("a command of the whole function"));
  EXPECT_THAT(refusal(mapping, of_function("split", {"i", four})),
              HasSubstr("a command of a computation, not of the whole function"));
}

TEST(Specialize, VersionsAreAskedInTheirOrder) {
  const Mapping mapping = Mapping(map_1d())
                              .with(of_function("specialize", {"N mod 8 = 0"}))
                              .with(of_function("specialize", {"N >= 100"}));
  const std::vector<Version> all = versions(mapping);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(is_within(*all[0].condition, "[N] -> { : N mod 8 = 0 }"));
  EXPECT_TRUE(is_within(all[0].mapping.function().context, "[N] -> { : N mod 8 = 0 }"));
  EXPECT_TRUE(is_within(all[1].mapping.function().context, "[N] -> { : N >= 100 }"));
  EXPECT_FALSE(all[2].condition.has_value());
  EXPECT_FALSE(is_within(all[2].mapping.function().context, "[N] -> { : N >= 100 }"));
  for (const Version &version : all) {
    EXPECT_TRUE(version.mapping.state().variants.empty());
  }
}

TEST(Specialize, WhatIsFixedIsNotAsked) {
  const Mapping mapping = Mapping(map_1d())
                              .with(of_function("specialize", {"N mod 3 = 0"}))
                              .with(of_function("specialize", {"N mod 4 = 0"}))
                              .with(of_function("fix", {"N", eight}));
  const std::vector<Version> all = versions(mapping);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_FALSE(all[0].condition.has_value());
}

TEST(Specialize, IsRefused) {
  const Mapping mapping(map_1d());
  const auto refused = [](const Mapping &given, const std::string &condition) {
    return refusal(given, of_function("specialize", {condition}));
  };
  EXPECT_THAT(refused(mapping, "N < 0"), HasSubstr("never holds in a call of f, where N >= 0"));
  EXPECT_THAT(refused(mapping, "N >= 0"), HasSubstr("holds in every call of f"));
  EXPECT_THAT(refused(mapping, "N = 1 or N = 5"), HasSubstr("one of 2 cases"));
  EXPECT_THAT(refused(mapping, "Q = 1"), HasSubstr("'Q' is no parameter of f"));
  EXPECT_THAT(refused(mapping, "N ="), HasSubstr("the condition"));
  EXPECT_THAT(refused(mapping.with(of_function("specialize", {"N mod 2 = 0"})), "N mod 4 = 0"),
              HasSubstr("a variant that was asked for earlier runs"));
}

TEST(WhenWork, TheLastOneCounts) {
  const Mapping mapping = Mapping(map_1d())
                              .with(of_function("when_work", {four, eight, std::int64_t{1}}))
                              .with(of_function("when_work", {eight}));
  EXPECT_EQ(mapping.state().work, (WorkLimits{8, 0, 0}));
  EXPECT_EQ(to_string(mapping.schedule()), "f.when_work(4, threads=8, around=1)\nf.when_work(8)");
}

TEST(WhenWork, DeclaredLoopsCannotStandInForAll) {
  const Mapping mapping = Mapping(map_1d()).with(of_function("when_work", {four}));
  EXPECT_THAT(refusal(mapping, command("C", "store_in", {"x[i]"})),
              HasSubstr("C is stored in the array of x"));
  EXPECT_THAT(refusal(mapping, command("C", "gpu_tile", {"i", eight})),
              HasSubstr("is a GPU's, where arrays may lie"));
  EXPECT_THAT(refusal(mapping, of_function("when_work", {std::int64_t{-1}})),
              HasSubstr("must be at least 0"));
  EXPECT_THAT(refusal(mapping, of_function("when_work", {four, four, std::int64_t{65}})),
              HasSubstr("at most 64, got 65"));
}

TEST(FunctionCommands, AreInTheTextOfTheState) {
  const Mapping plain(map_1d());
  for (const Command &given :
       {of_function("specialize", {"N mod 8 = 0"}), of_function("when_work", {four})}) {
    EXPECT_FALSE(same_mapping(plain.state(), plain.with(given).state())) << to_string(given);
  }
  EXPECT_NE(to_string(plain.state()),
            to_string(plain.with(of_function("fix", {"N", four})).state()));
}

TEST(FunctionCommands, NamesThatAreNoKeywordsArePrintedInADict) {
  EXPECT_EQ(to_string(of_function("fix", {"N", four, "M", eight})), "f.fix(N=4, M=8)");
  EXPECT_EQ(to_string(of_function("fix", {"N", four, "lambda", eight})),
            "f.fix({\"N\": 4, \"lambda\": 8})");
}

} // namespace
} // namespace tilewright
