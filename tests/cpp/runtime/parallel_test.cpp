// Parallel loops: every iteration once, statuses, nesting, numbers of threads, children of fork.
#include "polyhedral/error.h"
#include "runtime/parallel.h"
#include "runtime/thread_count.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tilewright {
namespace {

struct Visits {
  std::vector<std::atomic<int>> counts;
  std::mutex mutex;
  std::set<std::thread::id> threads;
  explicit Visits(size_t size) : counts(size) {}
};

std::int32_t visit(std::int64_t begin, std::int64_t end, void *closure) {
  auto &visits = *static_cast<Visits *>(closure);
  for (std::int64_t i = begin; i < end; ++i) {
    ++visits.counts[static_cast<size_t>(i)];
  }
  const std::lock_guard lock(visits.mutex);
  visits.threads.insert(std::this_thread::get_id());
  return KernelOk;
}

/// What compiled code hands over: the call's record, and here a body with its own closure.
struct Closure {
  ClosureHead head;
  ParallelBody body;
  void *inner;
};

std::int32_t call_body(std::int64_t begin, std::int64_t end, void *closure) {
  const auto &given = *static_cast<const Closure *>(closure);
  return given.body(begin, end, given.inner);
}

/// A loop that is worth its threads.
std::int32_t run_loop(std::int64_t begin, std::int64_t end, void *inner, ParallelBody body,
                      std::int64_t dealing, CallRecord *record = nullptr,
                      std::int64_t work = std::int64_t{1} << 40) {
  CallRecord usual;
  Closure closure{{nullptr, nullptr, record == nullptr ? &usual : record}, body, inner};
  return tilewright_parallel_for(begin, end, &closure, call_body, dealing, work);
}

class ParallelTest : public testing::Test {
protected:
  void TearDown() override { set_num_threads(0); }
};

TEST_F(ParallelTest, EveryIterationRunsOnce) {
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const std::int64_t size : {0, 1, 2, 3, 5, 64, 1001}) {
      Visits visits(static_cast<size_t>(size));
      EXPECT_EQ(run_loop(0, size, &visits, visit, 0), KernelOk);
      for (const auto &count : visits.counts) {
        EXPECT_EQ(count, 1);
      }
      EXPECT_LE(visits.threads.size(), static_cast<size_t>(threads));
    }
  }
}

/// Parts that begin together: each waits for the others, so each needs a thread of its own.
struct Meeting {
  explicit Meeting(int parts) : expected(parts) {}
  int expected;
  std::atomic<int> present{0};
  std::mutex mutex;
  std::map<std::int64_t, std::thread::id> threads; ///< by first iteration
};

std::int32_t meet(std::int64_t begin, std::int64_t, void *closure) {
  auto &meeting = *static_cast<Meeting *>(closure);
  {
    const std::lock_guard lock(meeting.mutex);
    meeting.threads[begin] = std::this_thread::get_id();
  }
  ++meeting.present;
  while (meeting.present < meeting.expected) {
    std::this_thread::yield();
  }
  return KernelOk;
}

TEST_F(ParallelTest, SeveralThreadsTakePart) {
  set_num_threads(3);
  for (const std::int64_t dealing : {0, 100, -100}) {
    Meeting meeting(3);
    run_loop(0, 300, &meeting, meet, dealing);
    std::set<std::thread::id> threads;
    for (const auto &[first, thread] : meeting.threads) {
      EXPECT_TRUE(dealing == 0 || first % 100 == 0);
      threads.insert(thread);
    }
    EXPECT_EQ(threads.size(), 3U);
    if (dealing >= 0) {
      EXPECT_EQ(meeting.threads.at(0),
                std::this_thread::get_id()); // the first part is the caller's
    }
  }
}

TEST_F(ParallelTest, EveryIterationRunsOnceHoweverDealt) {
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    for (const std::int64_t size : {1, 2, 3, 5, 64, 1001}) {
      for (const std::int64_t chunk : {1, 2, 7, 64, 2000}) {
        for (const std::int64_t dealing : {chunk, -chunk}) {
          Visits visits(static_cast<size_t>(size));
          EXPECT_EQ(run_loop(0, size, &visits, visit, dealing), KernelOk);
          for (const auto &count : visits.counts) {
            EXPECT_EQ(count, 1);
          }
        }
      }
    }
  }
}

TEST_F(ParallelTest, ChunksAreNoLargerThanAskedFor) {
  set_num_threads(3);
  auto measure = [](std::int64_t begin, std::int64_t end, void *) -> std::int32_t {
    return end - begin > 7 || begin % 7 != 0 ? KernelIndexError : KernelOk;
  };
  EXPECT_EQ(run_loop(0, 1000, nullptr, measure, 7), KernelOk);
  EXPECT_EQ(run_loop(0, 1000, nullptr, measure, -7), KernelOk);
  EXPECT_EQ(run_loop(0, 1000, nullptr, measure, 8), KernelIndexError);
}

TEST_F(ParallelTest, AFailureEndsTheDealing) {
  set_num_threads(2);
  for (const std::int64_t dealing : {1, -1}) {
    std::atomic<int> runs{0};
    auto fail = [](std::int64_t, std::int64_t, void *closure) -> std::int32_t {
      ++*static_cast<std::atomic<int> *>(closure);
      return KernelOutOfMemory;
    };
    EXPECT_EQ(run_loop(0, 1000, &runs, fail, dealing), KernelOutOfMemory);
    EXPECT_LE(runs, 2);
  }
}

TEST_F(ParallelTest, ExtremeRangesAndChunks) {
  set_num_threads(2);
  auto count = [](std::int64_t begin, std::int64_t end, void *closure) -> std::int32_t {
    *static_cast<std::atomic<std::uint64_t> *>(closure) +=
        static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    return KernelOk;
  };
  for (const std::int64_t dealing :
       {std::int64_t{0}, std::int64_t{1} << 50, -(std::int64_t{1} << 50), INT64_MAX, INT64_MIN}) {
    std::atomic<std::uint64_t> done{0};
    run_loop(INT64_MIN, INT64_MAX, &done, count, dealing);
    EXPECT_EQ(done, UINT64_MAX);
    done = 0;
    run_loop(0, std::int64_t{1} << 45, &done, count, dealing);
    EXPECT_EQ(done, std::uint64_t{1} << 45);
  }
}

TEST_F(ParallelTest, RegionsFollowEachOther) {
  set_num_threads(4);
  for (int round = 0; round < 20000; ++round) {
    Visits visits(4);
    run_loop(0, 4, &visits, visit, round % 2 == 0 ? 0 : -1);
    for (const auto &count : visits.counts) {
      ASSERT_EQ(count, 1);
    }
  }
}

TEST_F(ParallelTest, WhatABusyThreadDoesNotGetToIsDoneByOthers) {
  // The thread of the first iteration waits for all iterations but those of its first piece.
  struct Progress {
    std::atomic<int> done{0};
  } progress;
  auto wait_for_most = [](std::int64_t begin, std::int64_t end, void *closure) -> std::int32_t {
    auto &progress = *static_cast<Progress *>(closure);
    while (begin == 0 && progress.done < 3100) {
      std::this_thread::yield();
    }
    progress.done += static_cast<int>(end - begin);
    return end - begin <= 100 ? KernelOk : KernelIndexError;
  };
  for (const int threads : {2, 3}) {
    set_num_threads(threads);
    for (const std::int64_t dealing : {0, 10, -10}) {
      progress.done = 0;
      EXPECT_EQ(run_loop(0, 3200, &progress, wait_for_most, dealing), KernelOk);
      EXPECT_EQ(progress.done, 3200);
    }
  }
}

TEST_F(ParallelTest, ALoopOfLittleWorkRunsInItsThread) {
  set_num_threads(3);
  Visits visits(1000);
  EXPECT_EQ(run_loop(0, 1000, &visits, visit, 0, nullptr, 100), KernelOk);
  EXPECT_EQ(visits.threads, std::set<std::thread::id>{std::this_thread::get_id()});
  for (const auto &count : visits.counts) {
    EXPECT_EQ(count, 1);
  }
}

TEST_F(ParallelTest, ALoopRunsOnNoMoreThreadsThanItMay) {
  struct Crowd {
    std::atomic<int> present{0};
    std::atomic<int> most{0};
  } crowd;
  auto count = [](std::int64_t, std::int64_t, void *closure) -> std::int32_t {
    auto &crowd = *static_cast<Crowd *>(closure);
    const int present = ++crowd.present;
    int most = crowd.most;
    while (present > most && !crowd.most.compare_exchange_weak(most, present)) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    --crowd.present;
    return KernelOk;
  };
  for (const int threads : {6, 2, 3}) { // a pool that has grown for the first
    set_num_threads(threads);
    crowd.most = 0;
    EXPECT_EQ(run_loop(0, 200, &crowd, count, 0), KernelOk);
    EXPECT_LE(crowd.most, threads);
    EXPECT_GE(crowd.most, 2);
  }
}

TEST_F(ParallelTest, EmptyAndReversedRangesDoNothing) {
  Visits visits(1);
  EXPECT_EQ(run_loop(5, 5, &visits, visit, 0), KernelOk);
  EXPECT_EQ(run_loop(5, -5, &visits, visit, 0), KernelOk);
  EXPECT_TRUE(visits.threads.empty());
}

TEST_F(ParallelTest, AFailureOfOnePartIsTheResult) {
  set_num_threads(4);
  auto fail = [](std::int64_t begin, std::int64_t end, void *) -> std::int32_t {
    return begin <= 70 && 70 < end ? KernelIndexError : KernelOk;
  };
  EXPECT_EQ(run_loop(0, 100, nullptr, fail, 0), KernelIndexError);
  EXPECT_EQ(run_loop(0, 70, nullptr, fail, 0), KernelOk);
}

TEST_F(ParallelTest, NestedLoopsRunInPlace) {
  set_num_threads(4);
  Visits visits(10);
  auto outer = [](std::int64_t begin, std::int64_t end, void *closure) -> std::int32_t {
    for (std::int64_t i = begin; i < end; ++i) {
      Visits inner(50);
      run_loop(0, 50, &inner, visit, 0);
      if (inner.threads != std::set<std::thread::id>{std::this_thread::get_id()}) {
        return KernelInterrupted;
      }
    }
    return visit(begin, end, closure);
  };
  EXPECT_EQ(run_loop(0, 10, &visits, outer, 0), KernelOk);
  for (const auto &count : visits.counts) {
    EXPECT_EQ(count, 1);
  }
}

TEST_F(ParallelTest, CallersInSeveralThreadsDoNotDisturbEachOther) {
  set_num_threads(2);
  std::atomic<int> wrong{0};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        Visits visits(97);
        run_loop(0, 97, &visits, visit, 0);
        for (const auto &count : visits.counts) {
          wrong += count == 1 ? 0 : 1;
        }
      }
    });
  }
  for (std::thread &caller : callers) {
    caller.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST_F(ParallelTest, AChildOfForkKeepsWorking) {
  set_num_threads(3);
  Visits before(100);
  run_loop(0, 100, &before, visit, 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    Visits visits(100);
    bool good = run_loop(0, 100, &visits, visit, 0) == KernelOk;
    for (const auto &count : visits.counts) {
      good = good && count == 1;
    }
    _exit(good ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  Visits after(100);
  EXPECT_EQ(run_loop(0, 100, &after, visit, 0), KernelOk);
}

TEST_F(ParallelTest, NumberOfThreads) {
  EXPECT_GE(num_threads(), 1);
  set_num_threads(7);
  EXPECT_EQ(num_threads(), 7);
  set_num_threads(0);
  EXPECT_GE(num_threads(), 1);
  EXPECT_THROW(set_num_threads(-1), Error);
  EXPECT_FALSE(parallel_runtime().empty());
}

TEST_F(ParallelTest, ACallSaysHowManyThreads) {
  set_num_threads(5);
  for (const int threads : {1, 2, 3}) {
    CallRecord record;
    record.threads = threads;
    Meeting meeting(threads);
    run_loop(0, threads, &meeting, meet, 0, &record);
    EXPECT_EQ(meeting.threads.size(), static_cast<size_t>(threads));
    Visits visits(1000);
    run_loop(0, 1000, &visits, visit, -1, &record);
    EXPECT_LE(visits.threads.size(), static_cast<size_t>(threads));
  }
}

/// A call that ends at the `left`-th time it is asked.
struct Impatient : CallRecord {
  explicit Impatient(int left) : left(left) {
    caller = pthread_self();
    ask = [](CallRecord &record) { return --static_cast<Impatient &>(record).left <= 0; };
  }
  int left;
};

TEST_F(ParallelTest, ACallThatIsToEndEndsOnAllThreads) {
  set_num_threads(3);
  for (const std::int64_t dealing : {0, 10, -10}) {
    Impatient record(4);
    std::atomic<int> runs{0};
    auto count = [](std::int64_t, std::int64_t, void *closure) -> std::int32_t {
      ++*static_cast<std::atomic<int> *>(closure);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return KernelOk;
    };
    EXPECT_EQ(run_loop(0, 100'000, &runs, count, dealing, &record), KernelInterrupted);
    EXPECT_EQ(record.stop, 1);
    EXPECT_LT(runs, dealing == 0 ? 48 : 1000);
  }
  Visits after(100);
  EXPECT_EQ(run_loop(0, 100, &after, visit, 0), KernelOk);
}

TEST_F(ParallelTest, ACallerThatWaitsForOthersIsAskedToo) {
  set_num_threads(2);
  Impatient record(3);
  const std::thread::id caller = std::this_thread::get_id();
  struct Work {
    std::thread::id caller;
    CallRecord *record;
    std::atomic<bool> begun{false}; ///< the other thread's part
  } work{caller, &record};
  auto wait_to_stop = [](std::int64_t, std::int64_t, void *closure) -> std::int32_t {
    auto &work = *static_cast<Work *>(closure);
    if (std::this_thread::get_id() == work.caller) {
      while (!work.begun) {
        std::this_thread::yield();
      }
      return KernelOk;
    }
    work.begun = true;
    while (tilewright_poll(work.record) == KernelOk) {
      std::this_thread::yield();
    }
    return KernelInterrupted;
  };
  EXPECT_EQ(run_loop(0, 2, &work, wait_to_stop, 0, &record), KernelInterrupted);
}

TEST(ThreadCount, ControlGroupsLimitIt) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(testing::TempDir()) / ("groups" + std::to_string(getpid()));
  const auto write = [&](const std::string &path, const std::string &text) {
    fs::create_directories((root / path).parent_path());
    std::ofstream(root / path) << text;
  };
  const auto limit = [&] { return control_group_processors(root.string()); };
  EXPECT_EQ(limit(), std::nullopt);

  write("proc/self/cgroup", "0::/a/b\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("sys/fs/cgroup/a/cpu.max", "250000 100000\n"); // the group above
  EXPECT_EQ(limit(), 2.5);
  write("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(limit(), 1.5);
  write("sys/fs/cgroup/a/b/cpu.max", "nonsense\n");
  EXPECT_EQ(limit(), 2.5);

  fs::remove_all(root);
  write("proc/self/cgroup", "0::/\n"); // a container sees its own group as the root
  write("sys/fs/cgroup/cpu.max", "50000 100000");
  EXPECT_EQ(limit(), 0.5);

  fs::remove_all(root);
  write("proc/self/cgroup", "5:memory:/docker/12\n4:cpu,cpuacct:/docker/12\nnonsense\n1::\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), std::nullopt);
  write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "300000\n"); // its folder under another name
  EXPECT_EQ(limit(), 3);
  write("sys/fs/cgroup/cpu,cpuacct/docker/12/cpu.cfs_quota_us", "120000\n");
  write("sys/fs/cgroup/cpu,cpuacct/docker/12/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 1.2);
  fs::remove_all(root);
}

TEST(Allocation, IsAlignedAndRefusesTheImpossible) {
  for (const std::int64_t bytes : {0, 1, 63, 64, 65, 1 << 20}) {
    void *memory = tilewright_allocate(bytes);
    ASSERT_NE(memory, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
    tilewright_free(memory);
  }
  EXPECT_EQ(tilewright_allocate(-1), nullptr);
  EXPECT_EQ(tilewright_allocate(INT64_MAX), nullptr);
  EXPECT_EQ(tilewright_allocate(std::int64_t{1} << 60), nullptr);
  tilewright_free(nullptr);
}

} // namespace
} // namespace tilewright
