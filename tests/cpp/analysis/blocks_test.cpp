// Legality of blocks: a call reads and writes whole parts at one time, and who reads or overwrites
// an element of them meets all calls whose parts have it.
#include "algorithm/block.h"
#include "analysis/legality.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;
using testing::HasSubstr;

/// A[i,j] = 2 x[i,j]; S[i] reads A[i + first : i + first + 2, :] and updates T[i,:] from A[i,:];
/// C[i,j] = T[i,j].
class BlocksOfRows : public testing::Test {
protected:
  static Mapping mapping(std::int64_t first = 0) {
    const auto x = input("x", {size("N"), size("M")}, Float64);
    const auto a = define("[N,M] -> { A[i,j] : 0 <= i < N and 0 <= j < M }",
                          times(whole(2), access(x, {at("i"), at("j")})), Float64);
    const ExprPtr zero = constant(std::int64_t{0}, Int64);
    const auto row = [&](std::int64_t offset) {
      return binary(Op::Add, at("i"), constant(offset, Int64));
    };
    auto block = std::make_shared<BlockFunction>();
    block->name = "S";
    block->instances = {{"i", zero, binary(Op::Sub, size("N"), constant(std::int64_t{3}, Int64))}};
    block->results = {{"T",
                       Float64,
                       {size("M")},
                       part_of(access(a, {at("i"), at("q")}), {{"q", zero, size("M")}})}};
    block->arguments = {{BlockArgument::Kind::Read, 0, false},
                        {BlockArgument::Kind::Result, 0, false}};
    block->read_ranks = {2};
    block->read_types = {Float64};
    const ExprPtr part = part_of(access(a, {at("p"), at("r")}),
                                 {{"p", row(first), row(first + 2)}, {"r", zero, size("M")}});
    const ComputationPtr call = declare_block(block, {part}, {});
    const ComputationPtr t = block_result(call, 0);
    return Mapping(function({define("[N,M] -> { C[i,j] : 0 <= i < N - 3 and 0 <= j < M }",
                                    access(t, {at("i"), at("j")}), Float64)}));
  }

  static std::optional<Violation> problem(const std::vector<Command> &commands,
                                          std::int64_t first = 0) {
    Mapping scheduled = mapping(first);
    for (const Command &given : commands) {
      scheduled = scheduled.with(given);
    }
    return find_violation(build_program(scheduled));
  }
};

TEST_F(BlocksOfRows, ResultsAreThereDirectlyBehindTheCall) {
  const Program program = build_program(mapping());
  std::map<std::string, const Statement *> statements;
  for (const Statement &statement : program.statements) {
    statements[statement.name] = &statement;
  }
  ASSERT_TRUE(statements.contains("S") && statements.contains("T"));
  EXPECT_EQ(statements["T"]->loop_names, std::vector<std::string>{"i"});
  EXPECT_EQ(statements["T"]->order[0], statements["S"]->order[0]);
  EXPECT_EQ(statements["T"]->order[1], statements["S"]->order[1] + 1);
  EXPECT_FALSE(problem({}));
}

TEST_F(BlocksOfRows, ResultsAreInTheLoopsOfTheCall) {
  const Program program = build_program(mapping().with(command("S", "parallelize", {"i"})));
  for (const Statement &statement : program.statements) {
    const bool is_of_block = statement.name == "S" || statement.name == "T";
    EXPECT_EQ(statement.tags[0].tag, is_of_block ? Tag::Parallel : Tag::Sequential)
        << statement.name;
  }
}

TEST_F(BlocksOfRows, CallsComeBehindAllThatTheyRead) {
  EXPECT_TRUE(problem({command("S", "after", {"A", "i"})})); // row i + 1 is not there
  EXPECT_FALSE(problem({command("A", "reverse", {"i"}), command("S", "reverse", {"i"}),
                        command("S", "after", {"A", "i"})}));
}

TEST_F(BlocksOfRows, ReadersComeBehindTheCall) {
  EXPECT_FALSE(problem({command("C", "after", {"S", "i"})}));
  EXPECT_TRUE(problem({command("C", "before", {"S", "i"})}));
}

TEST_F(BlocksOfRows, PartsThatMeetAreNotWrittenInAnyOrder) {
  const Command in_place = command("T", "store_in", {"A[i, T_0]"});
  EXPECT_FALSE(problem({command("S", "parallelize", {"i"})}));
  EXPECT_FALSE(problem({in_place}, 1));
  // Call i reads row i + 1, which call i + 1 overwrites: later, or at any time.
  EXPECT_TRUE(problem({in_place, command("S", "parallelize", {"i"})}, 1));
  EXPECT_TRUE(problem({in_place, command("S", "reverse", {"i"})}, 1));
}

TEST_F(BlocksOfRows, ACallDoesNotWriteWhatItReads) {
  EXPECT_THROW(problem({command("T", "store_in", {"A[i, T_0]"})}), Error);
  EXPECT_THROW(problem({command("T", "store_in", {"A[i + 2, T_0]"})}, 1), Error);
  EXPECT_FALSE(problem({command("T", "store_in", {"A[i, T_0]"})}, 1));
}

TEST_F(BlocksOfRows, WhatIsStoredByMeansOfARemainderIsNoPart) {
  EXPECT_TRUE(problem({command("T", "set_access", {"{ T[i, j] -> B[i mod 2, j] }"})}));
  EXPECT_FALSE(problem({command("T", "set_access", {"{ T[i, j] -> B[i mod 2, j] }"}),
                        command("C", "after", {"S", "i"})}));
  EXPECT_THROW(problem({command("T", "set_access", {"{ T[i, j] -> B[i, j mod 2] }"})}), Error);
  EXPECT_THROW(problem({command("T", "set_access", {"{ T[i, j] -> B[j, i] }"})}), Error);
}

TEST_F(BlocksOfRows, ResultsHaveNoLoopsOfTheirOwn) {
  for (const Command &given :
       {command("T", "parallelize", {"i"}), command("C", "after", {"T", "i"}),
        command("S", "vectorize", {"i", std::int64_t{4}}), command("A", "inline", {})}) {
    EXPECT_THROW(mapping().with(given), Error) << given.name;
  }
}

} // namespace
} // namespace tilewright
