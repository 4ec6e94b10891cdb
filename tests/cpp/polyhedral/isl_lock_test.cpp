#include "polyhedral/interruption.h"
#include "polyhedral/isl.h"
#include "polyhedral/isl_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tilewright {
namespace {

/// A thread that has the lock from its beginning until `release`.
class Owner {
public:
  Owner()
      : thread_([this] {
          const IslLock lock;
          has_it_ = true;
          while (!gives_it_up_) {
            std::this_thread::yield();
          }
        }) {
    while (!has_it_) {
      std::this_thread::yield();
    }
  }
  ~Owner() { release(); }
  Owner(const Owner &) = delete;
  Owner &operator=(const Owner &) = delete;

  void release() {
    gives_it_up_ = true;
    if (thread_.joinable()) {
      thread_.join();
    }
  }

private:
  std::atomic<bool> has_it_{false};
  std::atomic<bool> gives_it_up_{false};
  std::thread thread_;
};

TEST(IslLockTest, IsRecursive) {
  EXPECT_FALSE(IslLock::is_held());
  {
    const IslLock outer;
    {
      const IslLock inner;
      EXPECT_TRUE(IslLock::is_held());
    }
    EXPECT_TRUE(IslLock::is_held());
  }
  EXPECT_FALSE(IslLock::is_held());
}

TEST(IslLockTest, AnOperationLimitHasIt) {
  {
    const OperationLimit limit(1000);
    EXPECT_TRUE(IslLock::is_held());
  }
  EXPECT_FALSE(IslLock::is_held());
}

TEST(IslLockTest, OneThreadAtATimeIsInside) {
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        const IslLock lock;
        const int now = ++inside;
        most = std::max(most.load(), now);
        std::this_thread::yield();
        --inside;
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(most, 1);
}

struct Counted {
  explicit Counted(int &freed) : freed_(freed) {}
  ~Counted() {
    ++freed_;
    had_lock = IslLock::is_held();
  }
  int &freed_;
  static inline bool had_lock = false;
};

TEST(IslLockTest, WhatIsFreedAtOnceIsFreedWithTheLock) {
  int freed = 0;
  make_isl_shared<Counted>(freed).reset();
  EXPECT_EQ(freed, 1);
  EXPECT_TRUE(Counted::had_lock);
}

TEST(IslLockTest, WhatCannotBeFreedAtOnceIsFreedByTheOwner) {
  int freed = 0;
  std::shared_ptr<Counted> object = make_isl_shared<Counted>(freed);
  Owner owner;
  EXPECT_TRUE(IslLock::is_held_by_other());
  object.reset(); // does not wait
  EXPECT_EQ(freed, 0);
  owner.release();
  EXPECT_EQ(freed, 1);
}

TEST(IslLockTest, GarbageOfGarbageIsFreed) {
  struct Nested {
    std::shared_ptr<Counted> inner;
  };
  int freed = 0;
  auto outer = make_isl_shared<Nested>(Nested{make_isl_shared<Counted>(freed)});
  Owner owner;
  outer.reset();
  owner.release();
  EXPECT_EQ(freed, 1);
}

TEST(IslLockTest, ARequestEndsTheAnalysisOfTheOwnerOnly) {
  {
    Owner owner;
    request_interruption();
    EXPECT_NO_THROW(check_interruption());
  }
  EXPECT_THROW(check_interruption(), Interrupted);
  forget_interruption();
}

TEST(IslLockTest, AChildOfForkHasIt) {
  lock_isl_for_fork();
  const pid_t child = fork();
  if (child == 0) {
    unlock_isl_after_fork();
    bool works = !IslLock::is_held();
    const IslLock lock;
    works = works && IslLock::is_held();
    _exit(works ? 0 : 1);
  }
  unlock_isl_after_fork();
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_FALSE(IslLock::is_held());
}

#ifdef TILEWRIGHT_ISL_WRAPPED
TEST(IslLockDeathTest, UseWithoutTheLockIsNoticedWhereItIsAskedFor) {
  const isl::set set(isl_context(), "{ A[i] : 0 <= i < 3 }");
  require_isl_lock(true);
  EXPECT_DEATH(static_cast<void>(isl::set(set).is_null()), "has not its lock");
  {
    const IslLock lock;
    EXPECT_FALSE(isl::set(set).is_null());
  }
  require_isl_lock(false);
}
#endif

} // namespace
} // namespace tilewright
