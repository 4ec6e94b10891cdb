// Transactions: commands that are checked together, by the thread that opened them.
#include "compiler/canonical_text.h"
#include "mapping/example_functions.h"
#include "polyhedral/interruption.h"
#include "polyhedral/isl_lock.h"
#include "scheduling/cache_fixture.h"
#include "scheduling/scheduled_function.h"

#include <gtest/gtest.h>

#include <thread>

namespace tilewright {
namespace {

using namespace examples;
using testing::HasSubstr;
using testing::StartsWith;

std::string text_of(const Error &error) { return error.what(); }

/// What `work` is refused with.
template <class Work>
std::string refused(ErrorKind kind, const Work &work) {
  try {
    work();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, kind) << error.what();
    return text_of(error);
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

class TransactionTest : public test::CacheFixture {
protected:
  /// C in the loops of B, which it reads.
  static std::unique_ptr<ScheduledFunction> fused() {
    auto function = std::make_unique<ScheduledFunction>(pointwise_pair(), CompileOptions{});
    function->apply(command("C", "after", {"B", "i"}));
    return function;
  }
  static Command reverse(const std::string &computation) {
    return command(computation, "reverse", {"i"});
  }
};

TEST_F(TransactionTest, APrefixMayBeIllegal) {
  const auto function = fused();
  EXPECT_THROW(function->apply(reverse("C")), Error);
  const std::uint64_t version = function->version();
  const std::uint64_t transaction = function->begin({});
  function->apply(reverse("C"));
  function->apply(reverse("B"));
  EXPECT_EQ(function->version(), version);
  function->commit(transaction);
  EXPECT_EQ(function->version(), version + 1);
  ASSERT_EQ(function->commands().size(), 2U);
  EXPECT_EQ(function->commands()[1].commands, (std::vector<Command>{reverse("C"), reverse("B")}));
  EXPECT_NO_THROW(function->require_legal());
}

TEST_F(TransactionTest, ARefusalAtTheEndChangesNothing) {
  const auto function = fused();
  const std::uint64_t version = function->version();
  const std::uint64_t transaction = function->begin({"here.py", 3, "with f.transaction():"});
  function->apply(reverse("C"));
  try {
    function->commit(transaction);
    FAIL() << "C runs before B";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::IllegalSchedule);
    EXPECT_THAT(text_of(error), StartsWith("with f.transaction(): C.reverse(\"i\") is illegal: "));
    EXPECT_EQ(error.where.line, 3);
  }
  EXPECT_EQ(function->version(), version);
  EXPECT_EQ(function->commands().size(), 1U);
  EXPECT_NO_THROW(function->mapping());
  EXPECT_NO_THROW(function->apply(command("C", "split", {"j", std::int64_t{4}})));
}

TEST_F(TransactionTest, ItIsReplayedAsOneCommand) {
  const auto function = fused();
  const std::uint64_t transaction = function->begin({});
  function->apply(reverse("C"));
  function->apply(reverse("B"));
  function->commit(transaction);
  const Schedule schedule{function->commands()};
  EXPECT_EQ(to_string(schedule), "C.after(\"B\", \"i\")\n"
                                 "with f.transaction():\n"
                                 "    C.reverse(\"i\")\n"
                                 "    B.reverse(\"i\")");
  ScheduledFunction other(pointwise_pair(), {});
  other.replay(schedule);
  EXPECT_EQ(other.commands(), schedule.commands);
  Schedule broken = schedule;
  broken.commands[1].commands.pop_back();
  EXPECT_THAT(refused(ErrorKind::IllegalSchedule, [&] { other.replay(broken); }),
              HasSubstr("with f.transaction(): C.reverse(\"i\") is illegal"));
  EXPECT_EQ(other.commands(), schedule.commands);
}

TEST_F(TransactionTest, GroupsAreOtherSchedulesToTheVerdicts) {
  const Command one = transaction_of({reverse("C"), reverse("B")}, {});
  const Command other = transaction_of({reverse("C")}, {});
  EXPECT_NE(LegalSchedules::after("", one), LegalSchedules::after("", other));
  EXPECT_NE(LegalSchedules::after("", one), LegalSchedules::after("", reverse("C")));
}

TEST_F(TransactionTest, InnerOnesJoinAndTakeTheirOwnBack) {
  const auto function = fused();
  const std::uint64_t outer = function->begin({});
  function->apply(reverse("C"));
  const std::uint64_t given_up = function->begin({});
  function->apply(command("B", "split", {"i", std::int64_t{4}}));
  function->roll_back(given_up);
  const std::uint64_t joined = function->begin({});
  function->apply(reverse("B"));
  function->commit(joined);
  EXPECT_EQ(function->mapping_so_far().time_space("B").dimensions.size(), 2U);
  function->commit(outer);
  EXPECT_EQ(function->commands().at(1).commands.size(), 2U);
  EXPECT_THAT(refused(ErrorKind::Schedule, [&] { function->commit(joined); }),
              HasSubstr("this transaction is over"));
}

TEST_F(TransactionTest, AnEmptyOneLeavesNothing) {
  const auto function = fused();
  const std::uint64_t version = function->version();
  function->commit(function->begin({}));
  EXPECT_EQ(function->version(), version);
  EXPECT_EQ(function->commands().size(), 1U);
}

TEST_F(TransactionTest, WhatRunsIsRefusedWithin) {
  const auto function = fused();
  const std::uint64_t transaction = function->begin({});
  for (const auto &work : std::vector<std::function<void()>>{
           [&] { function->mapping(); }, [&] { function->require_legal(); },
           [&] { function->mapping_that_runs(); }, [&] { ScheduledFunction(*function).version(); },
           [&] { function->require_no_transaction(); }}) {
    EXPECT_THAT(refused(ErrorKind::Schedule, work), HasSubstr("a transaction is open"));
  }
  EXPECT_THAT(refused(ErrorKind::Schedule, [&] { function->replay({}); }),
              HasSubstr("a schedule replaces all commands"));
  function->roll_back(transaction);
  EXPECT_NO_THROW(function->mapping());
}

TEST_F(TransactionTest, OtherThreadsSeeTheFunctionAsItWas) {
  const auto function = fused();
  const std::uint64_t transaction = function->begin({});
  function->apply(command("C", "split", {"j", std::int64_t{4}}));
  EXPECT_EQ(function->mapping_so_far().time_space("C").dimensions.size(), 3U);
  std::thread([&] {
    const IslLock lock;
    EXPECT_EQ(function->mapping().time_space("C").dimensions.size(), 2U);
    EXPECT_EQ(function->mapping_so_far().time_space("C").dimensions.size(), 2U);
    EXPECT_EQ(function->commands().size(), 1U);
    EXPECT_NO_THROW(ScheduledFunction(*function).version());
    EXPECT_THAT(refused(ErrorKind::Schedule, [&] { function->apply(reverse("C")); }),
                HasSubstr("another thread has a transaction open"));
    EXPECT_THAT(refused(ErrorKind::Schedule, [&] { function->begin({}); }),
                HasSubstr("another thread has a transaction open"));
    EXPECT_NO_THROW(function->commit(transaction)); // whoever ends it
  }).join();
  EXPECT_EQ(function->commands().size(), 2U);
}

TEST_F(TransactionTest, PlacesAreAskedAtTheCommand) {
  const auto function = fused();
  const std::uint64_t transaction = function->begin({});
  EXPECT_THAT(refused(ErrorKind::Schedule,
                      [&] {
                        function->apply(command("B", "store_in", {"b[i]"}));
                        function->apply(command("C", "store_in", {"b[i, j]"}));
                      }),
              Not(testing::IsEmpty()));
  function->roll_back(transaction);
}

TEST_F(TransactionTest, TheSmallestFoldNeedsALegalOrder) {
  ScheduledFunction function(prefix_sum(), {});
  const std::uint64_t transaction = function.begin({});
  function.apply(command("P", "reverse", {"i"}));
  EXPECT_THAT(
      refused(ErrorKind::Schedule, [&] { function.apply(command("P", "storage_fold", {"i"})); }),
      HasSubstr("follows from a legal order"));
  function.roll_back(transaction);
}

/// B needs C and C needs B, so that the default schedule has to be found.
std::shared_ptr<const Function> swapped_chains() {
  const auto x = input("x", {size("N")});
  const auto b = declare("[N] -> { B[i] : 0 <= i < N }");
  const auto c = declare("[N] -> { C[i] : 0 <= i < N }");
  define_on(b, "[N] -> { B[i] : i = 0 }", access(x, {at("i")}));
  define_on(b, "[N] -> { B[i] : i > 0 }", access(c, {at("i", -1)}));
  define_on(c, "[N] -> { C[i] : i >= 0 }", access(b, {at("i")}));
  return function({b, c});
}

Command all_times() {
  return command("", "set_schedule", {"[N] -> { B[i] -> [i, 0]; C[i] -> [i, 1] }"});
}

/// Nodes that analyses come to while `work` runs.
template <class Work>
std::uint64_t visits(const Work &work) {
  const std::uint64_t before = counted_visits();
  work();
  return counted_visits() - before;
}

TEST_F(TransactionTest, NoDefaultScheduleIsFoundBeforeAnotherOne) {
  ScheduledFunction first(swapped_chains(), {});
  ScheduledFunction second(swapped_chains(), {});
  const auto schedule = [](ScheduledFunction &function) {
    const std::uint64_t transaction = function.begin({});
    function.apply(all_times());
    function.apply(command("C", "store_in", {"c[i]"}));
    function.commit(transaction);
  };
  const std::uint64_t alone = visits([&] { schedule(first); });
  LegalSchedules::forget_all();
  const std::uint64_t with_default = visits([&] {
    second.mapping();
    schedule(second);
  });
  EXPECT_LT(alone, with_default);
  EXPECT_EQ(first.commands(), second.commands());
  EXPECT_EQ(canonical_text(first.mapping(), {}), canonical_text(second.mapping(), {}));
  // Copies ask for the default schedule once.
  ScheduledFunction copy(second);
  LegalSchedules::forget_all();
  EXPECT_LT(visits([&] { copy.replay({}); }), with_default - alone);
}

TEST_F(TransactionTest, WhatIsOnTheWayToALegalScheduleIsNotAsked) {
  CompileOptions options;
  options.default_schedule = true;
  ScheduledFunction first(two_stencils(), options);
  Schedule schedule = first.default_commands({});
  ASSERT_GT(schedule.commands.size(), 1U);
  first.replay(schedule);
  first.apply(command("", "when_work", {std::int64_t{0}}));
  first.store_verdicts();
  schedule.commands = first.commands();
  LegalSchedules::forget_all(); // as another process does not know them
  ScheduledFunction second(two_stencils(), options);
  second.replay(schedule);
  EXPECT_EQ(canonical_text(first.mapping(), {}), canonical_text(second.mapping(), {}));
  // Whatever is found to be legal is added.
  const LegalSchedules known(*two_stencils());
  const std::string one = LegalSchedules::after(known.none(), schedule.commands.front());
  EXPECT_FALSE(known.contains(one));
  schedule.commands.push_back(command("C", "reverse", {"i"}));
  schedule.commands.push_back(command("C", "reverse", {"no loop"}));
  EXPECT_THROW(second.replay(schedule), Error); // what comes behind is asked as ever
}

TEST_F(TransactionTest, WhatStoresViewsFollowsTheDefaultSchedule) {
  for (const bool asked : {false, true}) {
    ScheduledFunction function(jacobi_1d(), {});
    if (asked) {
      function.mapping();
    }
    const std::uint64_t transaction = function.begin({});
    const std::uint64_t within = function.begin({});
    function.apply(command("A", "split", {"i", std::int64_t{4}}));
    EXPECT_EQ(function.mapping_so_far().time_space("A").dimensions.size(), 3U);
    function.roll_back(within);
    function.apply(command("A", "split", {"i", std::int64_t{8}}));
    function.commit(transaction);
    EXPECT_EQ(function.mapping().time_space("A").dimensions.size(), 3U);
  }
}

} // namespace
} // namespace tilewright
