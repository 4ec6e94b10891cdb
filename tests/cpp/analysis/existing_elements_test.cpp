// Legality of elements that data decide about: what the condition of a statement reads has to be
// there first, and what reads an element comes behind it.
#include "algorithm/existing.h"
#include "analysis/legality.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::HasSubstr;

/// q[i] = 2 x[i]; P[i,j] = y[i,j] where j < q[i]; R[i] = sum(P[i,j] where j < q[i]).
class Rows : public testing::Test {
protected:
  static Mapping mapping() {
    const auto x = input("x", {size("N")}, Int64);
    const auto y = input("y", {size("N"), size("M")});
    const auto q =
        define("[N] -> { q[i] : 0 <= i < N }", times(whole(2), access(x, {at("i")})), Int64);
    const auto in_row = [&](const std::string &j) {
      return binary(Op::Lt, at(j), access(q, {at("i")}));
    };
    const auto p = define("[N,M] -> { P[i,j] : 0 <= i < N and 0 <= j < M }",
                          where_exists({in_row("j")}, access(y, {at("i"), at("j")})));
    const ExprPtr sum = reduce(Op::ReduceSum, {{"k", constant(std::int64_t{0}, Int64), size("M")}},
                               access(p, {at("i"), at("k")}), in_row("k"));
    return Mapping(function({define("[N] -> { R[i] : 0 <= i < N }", sum)}));
  }

  static std::optional<Violation> problem(const std::vector<Command> &commands) {
    Mapping scheduled = mapping();
    for (const Command &given : commands) {
      scheduled = scheduled.with(given);
    }
    return find_violation(build_program(scheduled));
  }
};

TEST_F(Rows, AStatementRunsUnderItsCondition) {
  const Program program = build_program(mapping());
  const auto p = std::find_if(program.statements.begin(), program.statements.end(),
                              [](const Statement &one) { return one.name == "P"; });
  ASSERT_NE(p, program.statements.end());
  EXPECT_EQ(to_string(p->predicate), "j < q[i]");
  EXPECT_EQ(to_string(p->value), "y[i, j]");
  EXPECT_FALSE(problem({}));
}

TEST_F(Rows, WhatTheConditionReadsComesFirst) {
  const std::optional<Violation> found = problem({command("q", "after", {"P", "i"})});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->explanation, HasSubstr("q"));
  EXPECT_FALSE(problem({command("P", "after", {"q", "i"})}));
}

TEST_F(Rows, ReadersComeBehindAllThatMayExist) {
  EXPECT_TRUE(problem({command("P", "after", {"R", "i"})}));
  EXPECT_FALSE(problem({command("R", "after", {"P", "i"})}));
  EXPECT_FALSE(problem({command("R", "after", {"P", "i"}), command("P", "private", {"i"})}));
  EXPECT_TRUE(problem({command("P", "storage_fold", {"i", std::int64_t{1}})}));
}

} // namespace
} // namespace tilewright
