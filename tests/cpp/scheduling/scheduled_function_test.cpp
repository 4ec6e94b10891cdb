// Functions are scheduled, proved and compiled here without Python, as front doors and tuners do.
#include "mapping/example_functions.h"
#include "polyhedral/isl_lock.h"
#include "runtime/cache.h"
#include "runtime/parallel.h"
#include "scheduling/cache_fixture.h"
#include "scheduling/scheduled_function.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

namespace tilewright {
namespace {

using namespace examples;

class ScheduledFunctionTest : public test::CacheFixture {
protected:
  static KernelRequest row_major(const ScheduledFunction &function) {
    KernelRequest request;
    request.layouts = row_major_layouts(function.declared());
    return request;
  }

  /// What the kernel of a function of one vector makes of 1, 2, ..., n.
  static std::vector<float> run(const CompiledKernel &kernel, std::int64_t n) {
    std::vector<float> x(static_cast<size_t>(n));
    std::vector<float> result(static_cast<size_t>(n), -1.0F);
    std::iota(x.begin(), x.end(), 1.0F);
    void *data[] = {x.data(), result.data()};
    const std::int64_t integers[] = {n, 4, 4};
    CallRecord record;
    EXPECT_EQ(kernel.entry()(data, integers, &record), KernelOk);
    return result;
  }
};

TEST_F(ScheduledFunctionTest, ALegalCommandIsRecorded) {
  ScheduledFunction function(two_stencils(), {});
  EXPECT_EQ(function.version(), 0U);
  function.apply(command("C", "reverse", {"i"}));
  ASSERT_EQ(function.commands().size(), 1U);
  EXPECT_EQ(function.commands()[0].name, "reverse");
  EXPECT_EQ(function.version(), 1U);
}

TEST_F(ScheduledFunctionTest, AnIllegalCommandChangesNothing) {
  ScheduledFunction function(prefix_sum(), {});
  function.apply(command("P", "split", {"i", std::int64_t{4}}));
  const std::uint64_t version = function.version();
  try {
    function.apply(command("P", "parallelize", {"i0"}));
    FAIL() << "a recurrence runs in parallel";
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::IllegalSchedule);
    EXPECT_THAT(error.what(), testing::HasSubstr("for example: P_1[3] -> P_1[4]"));
  }
  EXPECT_EQ(function.commands().size(), 1U);
  EXPECT_EQ(function.version(), version);
}

TEST_F(ScheduledFunctionTest, ReplayTakesAllCommandsOrNone) {
  ScheduledFunction function(prefix_sum(), {});
  function.apply(command("P", "split", {"i", std::int64_t{4}}));
  const Schedule bad{
      {command("P", "split", {"i", std::int64_t{8}}), command("P", "reverse", {"i1"})}};
  EXPECT_THROW(function.replay(bad), Error);
  ASSERT_EQ(function.commands().size(), 1U);
  EXPECT_EQ(std::get<std::int64_t>(function.commands()[0].arguments[1]), 4);
  function.replay({{command("P", "split", {"i", std::int64_t{8}})}});
  EXPECT_EQ(std::get<std::int64_t>(function.commands()[0].arguments[1]), 8);
}

TEST_F(ScheduledFunctionTest, ACopyGoesItsOwnWay) {
  ScheduledFunction function(two_stencils(), {});
  function.apply(command("C", "reverse", {"i"}));
  ScheduledFunction copy(function);
  copy.apply(command("C", "split", {"i", std::int64_t{4}}));
  EXPECT_EQ(function.commands().size(), 1U);
  EXPECT_EQ(copy.commands().size(), 2U);
  EXPECT_EQ(&copy.declared(), &function.declared());
}

TEST_F(ScheduledFunctionTest, TheLibrarySchedulesUntilTheFirstCommand) {
  CompileOptions options;
  options.default_schedule = true;
  ScheduledFunction function(map_1d(), options);
  EXPECT_TRUE(function.uses_default_schedule());
  EXPECT_FALSE(function.mapping_that_runs().schedule().commands.empty());
  function.apply(command("C", "reverse", {"i"}));
  EXPECT_FALSE(function.uses_default_schedule());
  EXPECT_EQ(function.mapping_that_runs().schedule().commands.size(), 1U);
}

TEST_F(ScheduledFunctionTest, InputsThatAreOverwrittenAreNamed) {
  ScheduledFunction function(map_1d(), {});
  EXPECT_TRUE(function.overwritten().empty());
  function.apply(command("C", "store_in", {"x[i]"}));
  const auto overwritten = function.overwritten();
  ASSERT_EQ(overwritten.size(), 1U);
  EXPECT_EQ(overwritten[0].first, "x");
  EXPECT_EQ(overwritten[0].second, std::vector<std::string>{"C"});
}

TEST_F(ScheduledFunctionTest, ItIsCompiledAndRunsWithoutPython) {
  ScheduledFunction function(prefix_sum(), {});
  function.apply(command("P", "split", {"i", std::int64_t{4}}));
  const auto kernel = function.compile(row_major(function));
  EXPECT_EQ(run(*kernel, 7), (std::vector<float>{1, 3, 6, 10, 15, 21, 28}));
  EXPECT_FALSE(kernel->from_cache);
  EXPECT_TRUE(function.compile(row_major(function))->from_cache);
}

TEST_F(ScheduledFunctionTest, ARequestForAnOlderScheduleIsRefused) {
  ScheduledFunction function(two_stencils(), {});
  const std::uint64_t version = function.version();
  function.set_check_bounds(true);
  EXPECT_THROW(function.prepare(row_major(function), version), ScheduleChanged);
  EXPECT_NO_THROW(function.prepare(row_major(function), function.version()));
}

/// C[i] = x[i] + x[i + 1].
std::shared_ptr<const Function> window() {
  const auto x = input("x", {size("N", 1)});
  return examples::function({define("[N] -> { C[i] : 0 <= i < N }",
                                    plus(access(x, {at("i")}), access(x, {at("i", 1)})))});
}

TEST_F(ScheduledFunctionTest, ArraysMayShareMemoryWhereTheScheduleAllowsIt) {
  ScheduledFunction function(window(), {});
  KernelRequest request = row_major(function);
  request.shared = {{"C", "x", {0}}};
  ASSERT_TRUE(function.sharing(request.shared).mapping.has_value());
  EXPECT_EQ(&function.sharing(request.shared), &function.sharing(request.shared)); // asked once
  const auto kernel = function.compile(request);
  std::vector<float> x = {1, 2, 3, 4, 5};
  void *data[] = {x.data(), x.data()};
  const std::int64_t integers[] = {4, 4, 4};
  CallRecord record;
  ASSERT_EQ(kernel->entry()(data, integers, &record), KernelOk);
  EXPECT_EQ(x, (std::vector<float>{3, 5, 7, 9, 5}));
}

TEST_F(ScheduledFunctionTest, ArraysMayNotShareMemoryWhereItIsOverwrittenTooSoon) {
  ScheduledFunction function(window(), {});
  function.apply(command("C", "reverse", {"i"}));
  KernelRequest request = row_major(function);
  request.shared = {{"C", "x", {0}}};
  const SharingVerdict &verdict = function.sharing(request.shared);
  EXPECT_FALSE(verdict.mapping.has_value());
  EXPECT_THAT(verdict.reason, testing::HasSubstr("for instance x["));
  EXPECT_THROW(function.compile(request), Error);
}

TEST_F(ScheduledFunctionTest, TwoThreadsScheduleAndCompileAtTheSameTime) {
  std::vector<std::thread> threads;
  std::array<std::vector<float>, 2> results;
  for (size_t t = 0; t < results.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::int64_t tile = 2; tile < 12; ++tile) {
        std::shared_ptr<ScheduledFunction> function;
        std::optional<PreparedKernel> prepared;
        {
          const IslLock lock;
          function = make_isl_shared<ScheduledFunction>(prefix_sum(), CompileOptions());
          function->apply(command("P", "split", {"i", tile * 2 + static_cast<std::int64_t>(t)}));
          prepared = function->prepare(row_major(*function), function->version());
        }
        results[t] = run(*complete(std::move(*prepared)), 5);
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  for (const std::vector<float> &result : results) {
    EXPECT_EQ(result, (std::vector<float>{1, 3, 6, 10, 15}));
  }
}

} // namespace
} // namespace tilewright
