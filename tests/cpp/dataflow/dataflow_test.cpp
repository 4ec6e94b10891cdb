// Which instance wrote what a reference reads, what is read from before, and what is dead.
#include "dataflow/dataflow.h"
#include "polyhedral/isl.h"

#include <gtest/gtest.h>
#include <isl/set.h>
#include <isl/union_set.h>

#include <string>

namespace tilewright {

namespace {

/// for i < N: s = A[i]; B[i] = s + B[i - 1] for i > 0; with the values of B at the end.
MemoryProgramBuilder chain() {
  MemoryProgramBuilder builder("[N] -> { : N >= 1 }");
  builder.add_statement("[N] -> { S[i] : 0 <= i < N }", "{ S[i] -> [0, i, 0] }", false);
  builder.add_access("reads A", "{ S[i] -> A[i] }", AccessKind::Read);
  builder.add_access("writes s", "{ S[i] -> s[] }", AccessKind::MustWrite);
  builder.add_statement("[N] -> { T[i] : 0 <= i < N }", "{ T[i] -> [0, i, 1] }", false);
  builder.add_access("reads s", "{ T[i] -> s[] }", AccessKind::Read);
  builder.add_access("reads B", "{ T[i] -> B[i - 1] : i > 0 }", AccessKind::Read);
  builder.add_access("writes B", "{ T[i] -> B[i] }", AccessKind::MustWrite);
  builder.add_statement("[N] -> { E[x] : 0 <= x < N }", "{ E[x] -> [1, x, 0] }", true);
  builder.add_access("shows B", "{ E[x] -> B[x] }", AccessKind::Read);
  return builder;
}

} // namespace

TEST(Dataflow, NamesTheInstanceThatWrote) {
  const IslLock lock;
  const MemoryProgramBuilder builder = chain();
  const Dataflow flow(builder.program());
  const std::vector<FlowSource> scalar = flow.sources("reads s");
  ASSERT_EQ(scalar.size(), 1U);
  EXPECT_EQ(scalar[0].kind, FlowSource::Kind::Written);
  EXPECT_EQ(scalar[0].name, "S");
  EXPECT_EQ(to_string(scalar[0].subscripts.at(0)), "i");
  EXPECT_EQ(scalar[0].condition, nullptr);
  const std::vector<FlowSource> before = flow.sources("reads B");
  ASSERT_EQ(before.size(), 1U);
  EXPECT_EQ(before[0].name, "T");
  EXPECT_EQ(to_string(before[0].subscripts.at(0)), "i - 1");
  const std::vector<FlowSource> initial = flow.sources("reads A");
  ASSERT_EQ(initial.size(), 1U);
  EXPECT_EQ(initial[0].kind, FlowSource::Kind::Initial);
  EXPECT_EQ(initial[0].name, "A");
}

TEST(Dataflow, FindsInstancesThatNobodyNeeds) {
  const IslLock lock;
  MemoryProgramBuilder builder = chain();
  EXPECT_TRUE(Dataflow(builder.program()).dead().is_empty().is_true());
  builder.add_statement("[N] -> { U[i] : 0 <= i < N }", "{ U[i] -> [0, i, 2] }", false);
  builder.add_access("writes s again", "{ U[i] -> s[] }", AccessKind::MustWrite);
  const isl::union_set dead = Dataflow(builder.program()).dead();
  const isl::set wanted(isl_context(), "[N] -> { U[i] : 0 <= i < N }");
  EXPECT_TRUE(dead.is_equal(isl::union_set(wanted)).is_true());
}

TEST(Dataflow, KillsAndMayWrites) {
  const IslLock lock;
  MemoryProgramBuilder builder("{ : }");
  builder.add_statement("{ K[] }", "{ K[] -> [0] }", false);
  builder.add_access("kills", "{ K[] -> s[] }", AccessKind::Kill);
  builder.add_statement("{ R[] }", "{ R[] -> [1] }", false);
  builder.add_access("reads", "{ R[] -> s[] }", AccessKind::Read);
  const std::vector<FlowSource> killed = Dataflow(builder.program()).sources("reads");
  ASSERT_EQ(killed.size(), 1U);
  EXPECT_EQ(killed[0].kind, FlowSource::Kind::Killed);
  EXPECT_THROW(builder.add_statement("{ R[] }", "{ R[] -> [1] }", false), Error);
  EXPECT_THROW(builder.add_access("reads", "{ R[] -> s[] }", AccessKind::Read), Error);
  EXPECT_THROW(builder.add_access("other", "{ Q[] -> s[] }", AccessKind::Read), Error);
}

} // namespace tilewright
