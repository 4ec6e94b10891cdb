// What a command leaves alone is not asked again, and the answer is the same as that of asking
// everything.
#include "analysis/legality.h"
#include "mapping/commands.h"
#include "mapping/example_functions.h"

namespace tilewright {
namespace {

using namespace examples;

std::shared_ptr<const LegalProgram> legal(const Mapping &mapping) {
  return require_legal(build_program(mapping), nullptr);
}

TEST(Unchanged, NothingIsWithoutAnEarlierProgram) {
  const Program program = build_program(Mapping(two_stencils()));
  const Unchanged unchanged(program, nullptr);
  EXPECT_FALSE(unchanged.statement(program.statements[0]));
  EXPECT_FALSE(unchanged.buffer(0));
}

TEST(Unchanged, AllIsInTheSameMapping) {
  const Mapping mapping(two_stencils());
  const auto before = legal(mapping);
  const Program program = build_program(mapping);
  const Unchanged unchanged(program, before.get());
  for (const Statement &statement : program.statements) {
    EXPECT_TRUE(unchanged.pair(statement, program.statements[0])) << statement.name;
    EXPECT_TRUE(unchanged.buffer(statement.buffer));
  }
}

TEST(Unchanged, ACommandChangesItsComputationOnly) {
  const Mapping mapping(pointwise_pair());
  const auto before = legal(mapping);
  const Program program =
      build_program(mapping.with(command("C", "parallelize", {std::string("i")})));
  const Unchanged unchanged(program, before.get());
  EXPECT_TRUE(unchanged.statement(statement(program, "B")));
  EXPECT_FALSE(unchanged.statement(statement(program, "C")));
  EXPECT_FALSE(unchanged.pair(statement(program, "B"), statement(program, "C")));
}

TEST(Unchanged, AnotherOrderChangesThePairNotTheStatements) {
  const Mapping mapping(pointwise_pair());
  const auto before = legal(mapping);
  const Program program = build_program(mapping.with(command("C", "before", {"B"})));
  const Unchanged unchanged(program, before.get());
  EXPECT_TRUE(unchanged.statement(statement(program, "B")));
  EXPECT_FALSE(unchanged.pair(statement(program, "B"), statement(program, "C")));
}

TEST(Unchanged, APromiseChangesItsComputation) {
  const Mapping mapping(pointwise_pair());
  const auto before = legal(mapping);
  const Program program =
      build_program(mapping.with(command("C", "independent", {std::string("i")})));
  const Unchanged unchanged(program, before.get());
  EXPECT_TRUE(unchanged.statement(statement(program, "B")));
  EXPECT_FALSE(unchanged.statement(statement(program, "C")));
}

TEST(Unchanged, UnrollingIsNoOtherOrder) {
  const Mapping mapping(pointwise_pair());
  const auto before = legal(mapping);
  const Program program =
      build_program(mapping.with(command("C", "unroll", {std::string("i"), std::int64_t(2)}))
                        .with(command("C", "unroll", {std::string("i1")})));
  const auto split =
      legal(mapping.with(command("C", "split", {std::string("i"), std::int64_t(2)})));
  EXPECT_TRUE(Unchanged(program, split.get()).statement(statement(program, "C")));
  EXPECT_FALSE(Unchanged(program, before.get()).statement(statement(program, "C")));
}

TEST(Unchanged, OrderIsKeptBySplittingALoopOfOnesOwn) {
  const Mapping mapping(pointwise_pair());
  const Command split = command("C", "split", {std::string("i"), std::int64_t(2)});
  EXPECT_TRUE(keeps_order(mapping, split));
  EXPECT_TRUE(keeps_order(mapping, command("C", "unroll", {std::string("i"), std::int64_t(2)})));
  EXPECT_FALSE(keeps_order(mapping, command("C", "reverse", {std::string("i")})));
  EXPECT_FALSE(keeps_order(mapping.with(command("C", "parallelize", {std::string("i")})), split));
  EXPECT_FALSE(keeps_order(mapping.with(command("C", "after", {"B", "i"})), split));
}

TEST(Unchanged, OrderIsKeptBySplittingTheOneExplicitTime) {
  const Command split = command("C", "split", {std::string("i"), std::int64_t(2)});
  const Mapping one =
      Mapping(pointwise_pair()).with(command("C", "set_schedule", {"{ C[i,j] -> [i, j] }"}));
  EXPECT_TRUE(keeps_order(one, split));
  const Mapping both = one.with(command("B", "set_schedule", {"{ B[i,j] -> [i, j] }"}));
  EXPECT_FALSE(keeps_order(both, split));
  const Mapping sum =
      Mapping(matmul()).with(command("C", "set_schedule", {"{ C[i,j,k] -> [i, j, k] }"}));
  EXPECT_FALSE(keeps_order(sum, split)); // its initialisation has loops of it
}

TEST(Unchanged, TagsAreAllThatATagChanges) {
  const Mapping mapping(pointwise_pair());
  const auto before = legal(mapping);
  const Program program =
      build_program(mapping.with(command("C", "parallelize", {std::string("j")})));
  const Unchanged unchanged(program, before.get());
  const Statement &b = statement(program, "B");
  const Statement &c = statement(program, "C");
  EXPECT_FALSE(unchanged.buffer(c.buffer));
  EXPECT_TRUE(unchanged.same_writes(c.buffer));
  EXPECT_EQ(unchanged.newly_concurrent(b, c), std::vector<size_t>{1});
  EXPECT_EQ(unchanged.newly_concurrent(c, b), std::vector<size_t>{1});
  EXPECT_EQ(unchanged.newly_concurrent(b, b), std::vector<size_t>{});
  EXPECT_EQ(Unchanged(program, nullptr).newly_concurrent(b, c), std::nullopt);
  // Back again: no loop is newly concurrent.
  const Program sequential = build_program(mapping);
  const auto tagged = legal(mapping.with(command("C", "parallelize", {std::string("j")})));
  EXPECT_EQ(Unchanged(sequential, tagged.get())
                .newly_concurrent(statement(sequential, "C"), statement(sequential, "B")),
            std::vector<size_t>{});
}

TEST(Unchanged, OtherLoopsAreMoreThanOtherTags) {
  const Mapping mapping(pointwise_pair());
  const auto before = legal(mapping);
  const Command vectorize = command("C", "vectorize", {std::string("j"), std::int64_t(4)});
  const Program program = build_program(mapping.with(vectorize));
  const Statement &c = statement(program, "C");
  EXPECT_EQ(Unchanged(program, before.get()).newly_concurrent(c, c), std::nullopt);
  const auto split = split_before_tag(mapping, vectorize);
  ASSERT_TRUE(split);
  const auto after_split = still_legal(build_program(mapping.with(*split)), *before);
  EXPECT_EQ(Unchanged(program, after_split.get()).newly_concurrent(c, c), std::vector<size_t>{2});
}

TEST(Unchanged, ALoopOfItsSizeIsTaggedWithoutASplit) {
  const Mapping mapping =
      Mapping(pointwise_pair()).with(command("C", "split", {std::string("j"), std::int64_t(4)}));
  EXPECT_FALSE(
      split_before_tag(mapping, command("C", "vectorize", {std::string("j1"), std::int64_t(4)})));
  EXPECT_FALSE(split_before_tag(mapping, command("C", "vectorize", {std::string("j1")})));
  EXPECT_FALSE(
      split_before_tag(mapping, command("C", "unroll", {std::string("i"), std::int64_t(4)})));
}

TEST(Unchanged, ReadsAreKnownWhileInstancesAreTheSame) {
  const Mapping mapping(two_stencils());
  const auto before = legal(mapping);
  const Command reverse = command("C", "reverse", {std::string("i")});
  const Program program = build_program(mapping.with(reverse));
  const Unchanged unchanged(program, before.get());
  for (const Statement &statement : program.statements) {
    ASSERT_TRUE(before->reads.contains(statement.name));
    EXPECT_EQ(unchanged.reads(statement), before->reads.at(statement.name));
  }
}

/// After every legal first command, every second one has the verdict that asking all gives it.
TEST(Unchanged, VerdictsAreThoseOfAskingEverything) {
  const std::vector<std::shared_ptr<const Function>> functions = {
      two_stencils(), pointwise_pair(), matmul(),          prefix_sum(),
      jacobi_1d(),    seidel(),         triangular_solve()};
  size_t accepted = 0;
  size_t refused = 0;
  for (const auto &function : functions) {
    const Mapping start(function);
    std::vector<Command> commands;
    for (const ComputationPtr &computation : function->computations) {
      const std::string &name = computation->name;
      for (const LoopDimension &loop : start.time_space(name).dimensions) {
        commands.push_back(command(name, "parallelize", {loop.name}));
        commands.push_back(command(name, "reverse", {loop.name}));
        commands.push_back(command(name, "shift", {loop.name, std::int64_t(1)}));
        commands.push_back(command(name, "storage_fold", {loop.name, std::int64_t(2)}));
        commands.push_back(command(name, "split", {loop.name, std::int64_t(3)}));
        commands.push_back(command(name, "unroll", {loop.name, std::int64_t(2)}));
        commands.push_back(command(name, "vectorize", {loop.name, std::int64_t(2)}));
      }
      for (const ComputationPtr &other : function->computations) {
        commands.push_back(command(name, "before", {other->name}));
        commands.push_back(command(name, "fuse_with", {other->name}));
      }
    }
    const auto begin = legal(start);
    for (const Command &first : commands) {
      std::optional<Mapping> one;
      std::shared_ptr<const LegalProgram> known;
      try {
        one = start.with(first);
        if (keeps_order(start, first)) {
          EXPECT_FALSE(find_violation(build_program(*one))) << to_string(first);
          known = still_legal(build_program(*one), *begin);
        } else {
          known = require_legal(build_program(*one), &first, begin.get());
        }
      } catch (const Error &) {
        continue;
      }
      for (const Command &second : commands) {
        std::optional<Program> program;
        try {
          program = build_program(one->with(second));
        } catch (const Error &) {
          continue;
        }
        const bool all = !find_violation(*program);
        EXPECT_TRUE(all || !keeps_order(*one, second))
            << function->name << ": " << to_string(first) << ", " << to_string(second);
        bool some = true;
        try {
          auto before = known;
          if (const auto split = split_before_tag(*one, second)) {
            before = still_legal(build_program(one->with(*split)), *known);
          }
          require_legal(*program, nullptr, before.get());
        } catch (const Error &error) {
          ASSERT_EQ(static_cast<int>(error.kind), static_cast<int>(ErrorKind::IllegalSchedule));
          some = false;
        }
        EXPECT_EQ(some, all) << function->name << ": " << to_string(first) << ", "
                             << to_string(second);
        (all ? accepted : refused) += 1;
      }
    }
  }
  EXPECT_GT(accepted, 100U);
  EXPECT_GT(refused, 100U);
}

} // namespace
} // namespace tilewright
