// The memory of temporaries: kept for the next call, bounded, safe among threads and behind a fork.
#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tilewright {
namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

class MemoryTest : public testing::Test {
protected:
  void SetUp() override {
    release_memory();
    set_kept_memory_limit(64 * mebibyte);
  }
  void TearDown() override {
    set_kept_memory_limit(512 * mebibyte);
    release_memory();
  }
};

TEST_F(MemoryTest, AlignedAndWritable) {
  for (const std::int64_t bytes :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{4096}, mebibyte - 1, mebibyte, mebibyte + 1,
        3 * mebibyte + 5, 17 * mebibyte}) {
    void *memory = tilewright_allocate(bytes);
    ASSERT_NE(memory, nullptr) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
    std::memset(memory, 1, static_cast<std::size_t>(bytes));
    tilewright_free(memory);
  }
  tilewright_free(nullptr);
  EXPECT_EQ(tilewright_allocate(-1), nullptr);
  EXPECT_EQ(tilewright_allocate(INT64_MAX), nullptr);
  EXPECT_EQ(tilewright_allocate(INT64_MAX / 2), nullptr);
}

TEST_F(MemoryTest, LargeBlocksAreKeptAndUsedAgain) {
  void *first = tilewright_allocate(5 * mebibyte);
  EXPECT_EQ(kept_memory(), 0U);
  tilewright_free(first);
  const std::size_t kept = kept_memory();
  EXPECT_GE(kept, static_cast<std::size_t>(5 * mebibyte));
  void *again = tilewright_allocate(5 * mebibyte - 100);
  EXPECT_EQ(again, first);
  EXPECT_EQ(kept_memory(), 0U);
  // Not for something of which it would be more than twice the size.
  tilewright_free(again);
  void *small = tilewright_allocate(mebibyte);
  EXPECT_NE(small, first);
  EXPECT_EQ(kept_memory(), kept);
  tilewright_free(small);
  release_memory();
  EXPECT_EQ(kept_memory(), 0U);
}

TEST_F(MemoryTest, SmallBlocksAreNotKept) {
  tilewright_free(tilewright_allocate(mebibyte / 2));
  EXPECT_EQ(kept_memory(), 0U);
}

TEST_F(MemoryTest, NoMoreThanTheLimitIsKept) {
  std::vector<void *> blocks;
  for (int b = 0; b < 20; ++b) {
    blocks.push_back(tilewright_allocate(10 * mebibyte));
  }
  for (void *block : blocks) {
    tilewright_free(block);
    EXPECT_LE(kept_memory(), kept_memory_limit());
  }
  EXPECT_GT(kept_memory(), kept_memory_limit() / 2);
  // The ones freed last are there.
  EXPECT_EQ(tilewright_allocate(10 * mebibyte), blocks.back());
  tilewright_free(blocks.back());
  // One above the limit is not kept, and drives no others out.
  const std::size_t kept = kept_memory();
  tilewright_free(tilewright_allocate(100 * mebibyte));
  EXPECT_EQ(kept_memory(), kept);
  set_kept_memory_limit(0);
  EXPECT_EQ(kept_memory(), 0U);
  tilewright_free(tilewright_allocate(10 * mebibyte));
  EXPECT_EQ(kept_memory(), 0U);
}

TEST_F(MemoryTest, ThreadsDoNotShareBlocks) {
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (int round = 0; round < 100; ++round) {
        const std::int64_t bytes = mebibyte + (round % 7) * mebibyte / 3;
        auto *memory = static_cast<unsigned char *>(tilewright_allocate(bytes));
        for (std::int64_t at = 0; at < bytes; at += 4096) {
          memory[at] = static_cast<unsigned char>(t + round);
        }
        for (std::int64_t at = 0; at < bytes; at += 4096) {
          wrong[static_cast<std::size_t>(t)] += memory[at] != static_cast<unsigned char>(t + round);
        }
        tilewright_free(memory);
      }
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_LE(kept_memory(), kept_memory_limit());
}

TEST_F(MemoryTest, AChildOfForkGoesOn) {
  void *used = tilewright_allocate(4 * mebibyte);
  tilewright_free(tilewright_allocate(3 * mebibyte));
  const pid_t child = fork();
  if (child == 0) {
    std::memset(used, 7, static_cast<std::size_t>(4 * mebibyte));
    void *kept = tilewright_allocate(3 * mebibyte);
    std::memset(kept, 8, static_cast<std::size_t>(3 * mebibyte));
    tilewright_free(kept);
    tilewright_free(used);
    release_memory();
    _exit(kept_memory() == 0 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  tilewright_free(used);
}

} // namespace
} // namespace tilewright
