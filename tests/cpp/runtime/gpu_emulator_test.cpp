// Fibres, and the emulator with kernels written by hand: what it lets pass and what it finds.
#include "polyhedral/error.h"
#include "runtime/fibre.h"
#include "runtime/gpu_emulator.h"
#include "runtime/gpu_tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

namespace tilewright {
namespace {

using testing::HasSubstr;

TEST(Fibre, PausesAndGoesOnWhereItWas) {
  struct Counter {
    Fibre fibre;
    int value = 0;
  } counter;
  const auto count = [](void *argument) {
    auto &self = *static_cast<Counter *>(argument);
    for (int step = 0; step < 3; ++step) {
      ++self.value;
      self.fibre.pause();
    }
  };
  counter.fibre.start(count, &counter);
  for (int step = 1; step <= 3; ++step) {
    EXPECT_FALSE(counter.fibre.resume());
    EXPECT_EQ(counter.value, step);
  }
  EXPECT_TRUE(counter.fibre.resume());
  EXPECT_TRUE(counter.fibre.resume()) << "one that has ended stays so";
  counter.fibre.start(count, &counter);
  EXPECT_FALSE(counter.fibre.resume());
  EXPECT_EQ(counter.value, 4) << "it starts anew";
}

TEST(Fibre, KeepsFloatingPointNumbersAndLocals) {
  struct Sum {
    Fibre fibre;
    double result = 0;
  } sum;
  sum.fibre.start(
      [](void *argument) {
        auto &self = *static_cast<Sum *>(argument);
        double total = 0.5;
        std::array<double, 64> own{};
        std::iota(own.begin(), own.end(), 1.0);
        for (const double value : own) {
          self.fibre.pause();
          total += value;
        }
        self.result = total;
      },
      &sum);
  volatile double outside = 1.25;
  while (!sum.fibre.resume()) {
    outside = outside * 1.0000001;
  }
  EXPECT_EQ(sum.result, 0.5 + 2080);
}

/// What all kernels here get.
struct Arguments {
  DeviceFailure *failure = nullptr;
  float *values = nullptr;
  std::int64_t count = 0;
};

std::int64_t thread_x() { return tilewright_gpu_index(3); }
std::int64_t block_x() { return tilewright_gpu_index(0); }
float *shared() { return static_cast<float *>(tilewright_gpu_shared()); }

constexpr std::int32_t values_buffer = 0;
constexpr std::int32_t shared_buffer = 1;
constexpr std::int32_t reads = 0;
constexpr std::int32_t writes = 1;
constexpr std::int32_t updates = 2;
constexpr std::int64_t item = sizeof(float);

void touch(const float *address, std::int32_t buffer, std::int32_t kind) {
  tilewright_gpu_access(address, item, buffer, kind, item);
}

class Emulator : public testing::Test {
protected:
  /// Launches `thread` on `blocks` blocks of `threads` threads, on `count` floats.
  void launch(void (*thread)(const void *), std::int64_t blocks, std::int64_t threads,
              std::int64_t count) {
    const std::array<EmulatedBuffer, 2> buffers = {EmulatedBuffer{"values", item, 1, 0, 0},
                                                   EmulatedBuffer{"tile", item, -1, 0, 64 * item}};
    const EmulatedKernel emulated{thread, buffers.data(), buffers.size()};
    const DeviceKernel kernel{"test", nullptr, 0, &emulated, 3};
    const LaunchShape shape{{blocks, 1, 1}, {threads, 1, 1}, 64 * item};
    Device &device = gpu_emulator();
    values_.assign(static_cast<size_t>(count), 0.0F);
    const std::int64_t bytes = count * item;
    Arguments arguments{&failure_, static_cast<float *>(device.allocate(bytes)), count};
    device.copy_in(arguments.values, values_.data(), bytes);
    try {
      device.launch(kernel, shape, &arguments);
      device.copy_out(values_.data(), arguments.values, bytes);
    } catch (...) {
      device.release(arguments.values);
      throw;
    }
    device.release(arguments.values);
  }

  std::string problem(void (*thread)(const void *), std::int64_t blocks, std::int64_t threads,
                      std::int64_t count) {
    try {
      launch(thread, blocks, threads, count);
    } catch (const Error &error) {
      EXPECT_EQ(error.kind, ErrorKind::Device);
      return error.what();
    }
    return "";
  }

  std::vector<float> values_;
  DeviceFailure failure_;
};

/// Each block reverses its threads' numbers through shared memory.
template <bool Waits>
void reverse(const void *given) {
  const auto &arguments = *static_cast<const Arguments *>(given);
  const std::int64_t t = thread_x();
  touch(shared() + t, shared_buffer, writes);
  shared()[t] = static_cast<float>(t);
  if (Waits) {
    tilewright_gpu_barrier(0);
  }
  float *from = shared() + (7 - t);
  touch(from, shared_buffer, reads);
  float *to = arguments.values + 8 * block_x() + t;
  touch(to, values_buffer, writes);
  *to = *from;
}

TEST_F(Emulator, RunsBlocksOfThreadsThatWait) {
  launch(reverse<true>, 3, 8, 24);
  for (size_t k = 0; k < values_.size(); ++k) {
    EXPECT_EQ(values_[k], 7.0F - static_cast<float>(k % 8));
  }
}

template <bool others_wait>
void give_up(const void *given) {
  if (thread_x() == 5) {
    static_cast<const Arguments *>(given)->failure->status = KernelIndexError;
    return;
  }
  if (others_wait) {
    tilewright_gpu_barrier(0);
  }
}

TEST_F(Emulator, LetsAThreadGiveUpUnlessOthersWaitForIt) {
  EXPECT_EQ(problem(give_up<false>, 2, 8, 8), ""); // the call reports it
  EXPECT_THAT(problem(give_up<true>, 2, 8, 8),
              HasSubstr("thread (0, 0, 0) waits at barrier 0, thread (5, 0, 0) has ended"));
}

TEST_F(Emulator, ThreadsThatMeetAfterAFailureAreItsConsequence) {
  const auto meet = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    arguments.failure->status = KernelIndexError;
    touch(arguments.values, values_buffer, writes);
  };
  EXPECT_EQ(problem(meet, 1, 8, 8), "");
  const auto beyond = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    arguments.failure->status = KernelIndexError;
    touch(arguments.values + 8, values_buffer, reads);
  };
  EXPECT_THAT(problem(beyond, 1, 1, 8), HasSubstr("outside of values"));
}

TEST_F(Emulator, FindsAMissingBarrier) {
  const std::string found = problem(reverse<false>, 1, 8, 8);
  EXPECT_THAT(found, HasSubstr("with no barrier between"));
  EXPECT_THAT(found, HasSubstr("of tile"));
  EXPECT_THAT(found, HasSubstr("thread (4, 0, 0) of block (0, 0, 0)"));
}

TEST_F(Emulator, FindsBlocksThatMeet) {
  const auto meet = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    touch(arguments.values, values_buffer, writes);
    *arguments.values = 1;
  };
  EXPECT_THAT(problem(meet, 2, 1, 1), HasSubstr("blocks do not wait for each other"));
  EXPECT_EQ(problem(meet, 1, 1, 1), "");
}

TEST_F(Emulator, KnowsWhatAnotherBlockHasRead) {
  const auto read_then_write = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    if (block_x() == 0) {
      if (thread_x() == 0) {
        touch(arguments.values, values_buffer, reads);
      }
      return;
    }
    touch(arguments.values, values_buffer, reads);
    tilewright_gpu_barrier(0);
    if (thread_x() == 0) {
      touch(arguments.values, values_buffer, writes);
    }
  };
  EXPECT_NE(problem(read_then_write, 2, 4, 4).find("blocks do not wait for each other"),
            std::string::npos);
}

TEST_F(Emulator, LetsUpdatesInOneStepMeet) {
  const auto add = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    touch(arguments.values, values_buffer, updates);
    *arguments.values += 1;
  };
  launch(add, 4, 32, 1);
  EXPECT_EQ(values_[0], 128.0F);
}

TEST_F(Emulator, FindsUpdatesOfMoreThanTheirElement) {
  const auto wide = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    tilewright_gpu_access(arguments.values + thread_x(), 2 * item, values_buffer, updates, item);
  };
  EXPECT_EQ(problem(wide, 1, 7, 8), "");
  EXPECT_THAT(problem(wide, 1, 8, 8), HasSubstr("updates outside of values"));
}

TEST_F(Emulator, FindsAReadThatAnotherThreadWritesLater) {
  const auto race = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    touch(arguments.values, values_buffer, thread_x() == 3 ? writes : reads);
  };
  const std::string found = problem(race, 1, 4, 1);
  EXPECT_THAT(found, HasSubstr("thread (3, 0, 0) of block (0, 0, 0) writes element 0 of values"));
  EXPECT_THAT(found, HasSubstr("thread (2, 0, 0) of block (0, 0, 0) reads"));
}

TEST_F(Emulator, FindsAccessesOutside) {
  const auto beyond = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    touch(arguments.values + thread_x(), values_buffer, reads);
  };
  EXPECT_EQ(problem(beyond, 1, 8, 8), "");
  const std::string found = problem(beyond, 1, 9, 8);
  EXPECT_THAT(found, HasSubstr("thread (8, 0, 0) of block (0, 0, 0) reads outside of values"));
  EXPECT_THAT(found, HasSubstr("byte 32 of 32"));
  const auto before = [](const void *) { touch(shared() - 1, shared_buffer, reads); };
  EXPECT_THAT(problem(before, 1, 1, 1), HasSubstr("outside of tile"));
}

TEST_F(Emulator, FindsBarriersThatNotAllComeTo) {
  const auto some = [](const void *) {
    if (thread_x() < 2) {
      tilewright_gpu_barrier(5);
    }
  };
  const std::string found = problem(some, 1, 3, 1);
  EXPECT_THAT(found, HasSubstr("thread (0, 0, 0) waits at barrier 5, thread (2, 0, 0) has ended"));
  const auto different = [](const void *) {
    tilewright_gpu_barrier(static_cast<std::int32_t>(thread_x()));
  };
  EXPECT_THAT(problem(different, 1, 2, 1), HasSubstr("thread (1, 0, 0) at barrier 1"));
}

/// The sum over each group of eight lanes, by its first thread.
void sum_of_eight(const void *given) {
  const auto &arguments = *static_cast<const Arguments *>(given);
  auto sum = static_cast<std::int32_t>(thread_x());
  for (const std::int32_t mask : {4, 2, 1}) {
    sum += tilewright_gpu_shuffle(0, sum, mask);
  }
  if (thread_x() % 8 == 0) {
    touch(arguments.values + thread_x() / 8, values_buffer, writes);
    arguments.values[thread_x() / 8] = static_cast<float>(sum);
  }
}

TEST_F(Emulator, WarpsExchangeWhatTheirLanesHave) {
  launch(sum_of_eight, 1, 48, 6); // the second warp has 16 lanes
  for (size_t k = 0; k < values_.size(); ++k) {
    EXPECT_EQ(values_[k], 64.0F * static_cast<float>(k) + 28.0F);
  }
  const auto large = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    const std::array<std::int64_t, 3> own = {thread_x(), 2 * thread_x(), 3 * thread_x()};
    std::array<std::array<std::int64_t, 3>, 32> all{};
    tilewright_gpu_exchange(7, own.data(), sizeof(own), all.data());
    touch(arguments.values + thread_x(), values_buffer, writes);
    arguments.values[thread_x()] = static_cast<float>(all.at(31 - thread_x())[2]);
  };
  launch(large, 1, 32, 32);
  EXPECT_EQ(values_[0], 93.0F);
  EXPECT_EQ(values_[31], 0.0F);
}

TEST_F(Emulator, FindsExchangesThatNotAllOfAWarpComeTo) {
  const auto some = [](const void *) {
    if (thread_x() != 33) {
      tilewright_gpu_shuffle(4, 0, 1);
    }
  };
  EXPECT_EQ(problem(some, 1, 32, 1), "");
  const std::string found = problem(some, 1, 64, 1);
  EXPECT_THAT(found, HasSubstr("not all threads of warp 1 of block (0, 0, 0)"));
  EXPECT_THAT(found,
              HasSubstr("thread (32, 0, 0) waits at exchange 4, thread (33, 0, 0) has ended"));
  const auto different = [](const void *) {
    if (thread_x() == 0) {
      tilewright_gpu_barrier(2);
    } else {
      tilewright_gpu_shuffle(4, 0, 1);
    }
  };
  EXPECT_THAT(problem(different, 1, 3, 1), HasSubstr("exchange"));
}

TEST_F(Emulator, AnExchangeIsNoBarrier) {
  const auto race = [](const void *) {
    touch(shared(), shared_buffer, thread_x() == 0 ? writes : reads);
    tilewright_gpu_shuffle(0, 0, 1);
    touch(shared(), shared_buffer, reads);
  };
  EXPECT_THAT(problem(race, 1, 32, 1), HasSubstr("with no barrier between"));
}

TEST_F(Emulator, FindsAccessesThatAreNotAligned) {
  const auto four_from = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    const float *address = arguments.values + (arguments.count == 8 ? 4 : 2);
    tilewright_gpu_access(address, 4 * item, values_buffer, reads, 4 * item);
  };
  EXPECT_EQ(problem(four_from, 1, 1, 8), "");
  EXPECT_THAT(problem(four_from, 1, 1, 9),
              HasSubstr("reads 16 bytes of values at an address that is no multiple of 16"));
}

/// Copies four of the thread's own elements to shared memory, waits for all groups but the last
/// `under_way`, and gives back what is there then.
template <int under_way>
void copy(const void *given) {
  const auto &arguments = *static_cast<const Arguments *>(given);
  float *own = arguments.values + 4 * thread_x();
  float *to = shared() + 4 * thread_x();
  own[3] = static_cast<float>(thread_x());
  tilewright_gpu_copy(to, own, 4 * item, shared_buffer, values_buffer);
  tilewright_gpu_commit();
  own[3] = -1; // what was there before is copied
  tilewright_gpu_wait(under_way);
  tilewright_gpu_barrier(0);
  const float *from = shared() + 4 * (3 - thread_x());
  touch(from + 3, shared_buffer, reads);
  touch(own, values_buffer, writes);
  *own = from[3];
}

TEST_F(Emulator, CopiesArriveWhenTheThreadHasWaited) {
  launch(copy<0>, 1, 4, 16);
  EXPECT_THAT(values_, testing::ElementsAre(3, 0, 0, -1, 2, 0, 0, -1, 1, 0, 0, -1, 0, 0, 0, -1));
  EXPECT_THAT(
      problem(copy<1>, 1, 4, 16),
      HasSubstr("thread (0, 0, 0) of block (0, 0, 0) reads element 15 of tile, which thread "
                "(3, 0, 0) copies asynchronously and has not waited for"));
}

TEST_F(Emulator, RefusesWhatNoDeviceHas) {
  const auto nothing = [](const void *) {};
  EXPECT_THAT(problem(nothing, 1, 1025, 1), HasSubstr("1025 threads"));
  EXPECT_EQ(problem(nothing, 0, 32, 1), "") << "no blocks, nothing to do";
}

TEST(DeviceCall, KeepsWhatWentWrong) {
  DeviceCall call(gpu_emulator());
  EXPECT_EQ(call.allocate(std::int64_t{1} << 60), nullptr);
  KernelFailure failure;
  EXPECT_THROW(call.finish(KernelDeviceError, failure, false, true), Error);
}

TEST(DeviceCall, BringsBackTheFirstFailure) {
  DeviceCall call(gpu_emulator());
  const DeviceFailure left{KernelIndexError, 0, 3, 17, 12};
  gpu_emulator().copy_in(call.failure(), &left, sizeof(left));
  KernelFailure failure;
  EXPECT_EQ(call.finish(KernelOk, failure, true, true), KernelIndexError);
  EXPECT_EQ(failure.site, 3);
  EXPECT_EQ(failure.value, 17);
  EXPECT_EQ(failure.extent, 12);
}

// ---- tiles of tensor cores: a product where each lane says what its elements are ----

/// bfloat16 of a small integer.
std::uint32_t small(int value) {
  const auto number = static_cast<float>(value);
  std::uint32_t bits = 0;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits >> 16U;
}

int left_at(int row, int k) { return (3 * row + 5 * k) % 7 - 3; }
int right_at(int k, int column) { return (2 * k + 3 * column) % 5 - 2; }

/// 16 x 8 x 16 of bfloat16: registers of two neighbours along the depth.
void multiply(const void *given) {
  const auto &arguments = *static_cast<const Arguments *>(given);
  const int lane = tilewright_gpu_index(3);
  const int group = lane / 4;
  const int pair = 2 * (lane % 4);
  std::array<std::uint32_t, 6> factors{};
  for (int half = 0; half < 2; ++half) {
    const int k = pair + 8 * half;
    for (int part = 0; part < 2; ++part) {
      const int row = group + 8 * part;
      factors.at(static_cast<size_t>(2 * half + part)) =
          small(left_at(row, k)) | small(left_at(row, k + 1)) << 16U;
    }
    factors.at(static_cast<size_t>(4 + half)) =
        small(right_at(k, group)) | small(right_at(k + 1, group)) << 16U;
  }
  std::array<float, 4> sums = {1, 1, 1, 1};
  tilewright_gpu_mma(0, static_cast<std::int32_t>(TileOperands::BFloat), 16, factors.data(),
                     sums.data());
  for (int i = 0; i < 4; ++i) {
    const int place = 8 * (i < 2 ? group : group + 8) + pair + i % 2;
    touch(arguments.values + place, values_buffer, writes);
    arguments.values[place] = sums.at(static_cast<size_t>(i));
  }
}

TEST_F(Emulator, MultipliesTilesOfAWarp) {
  launch(multiply, 1, 32, 128);
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      int sum = 1;
      for (int k = 0; k < 16; ++k) {
        sum += left_at(row, k) * right_at(k, column);
      }
      EXPECT_EQ(values_.at(static_cast<size_t>(8 * row + column)), static_cast<float>(sum))
          << row << ", " << column;
    }
  }
}

TEST_F(Emulator, FindsProductsThatNotAllOfAWarpComeTo) {
  const auto divergent = [](const void *given) {
    if (thread_x() != 5) {
      multiply(given);
    }
  };
  EXPECT_THAT(problem(divergent, 1, 32, 128), HasSubstr("thread (5, 0, 0) has ended"));
}

TEST_F(Emulator, LoadsMatricesOfAWarp) {
  const auto load = [](const void *given) {
    const auto &arguments = *static_cast<const Arguments *>(given);
    const int lane = tilewright_gpu_index(3);
    auto *memory = static_cast<std::uint16_t *>(tilewright_gpu_shared());
    for (int column = 0; column < 8 && lane < 8; ++column) {
      tilewright_gpu_access(memory + 8 * lane + column, 2, shared_buffer, writes, 2);
      memory[8 * lane + column] = static_cast<std::uint16_t>(10 * lane + column);
    }
    tilewright_gpu_barrier(0);
    for (int transposed = 0; transposed < 2; ++transposed) {
      std::uint32_t got = 0;
      tilewright_gpu_matrices(transposed, shared_buffer, 1, transposed, memory + 8 * (lane % 8),
                              &got);
      for (int k = 0; k < 2; ++k) {
        const int place = 64 * transposed + 8 * (lane / 4) + 2 * (lane % 4) + k;
        touch(arguments.values + place, values_buffer, writes);
        arguments.values[place] = static_cast<float>(got >> (k == 0 ? 0U : 16U) & 0xffffU);
      }
    }
  };
  launch(load, 1, 32, 128);
  for (int row = 0; row < 8; ++row) {
    for (int column = 0; column < 8; ++column) {
      const auto place = static_cast<size_t>(8 * row + column);
      EXPECT_EQ(values_.at(place), static_cast<float>(10 * row + column));
      EXPECT_EQ(values_.at(64 + place), static_cast<float>(10 * column + row));
    }
  }
}

TEST(TensorCores, RoundToTf32AwayFromZero) {
  const auto rounded = [](float value) {
    const std::uint32_t bits = tilewright_gpu_tf32(value);
    float result = 0;
    std::memcpy(&result, &bits, sizeof(result));
    return result;
  };
  EXPECT_EQ(rounded(1 + 0x1p-11F), 1 + 0x1p-10F);
  EXPECT_EQ(rounded(1 + 0x1p-12F), 1.0F);
  EXPECT_EQ(rounded(-1 - 0x1p-11F), -1 - 0x1p-10F);
  EXPECT_EQ(rounded(INFINITY), INFINITY);
  EXPECT_EQ(rounded(3.4028234e38F), INFINITY);
  EXPECT_TRUE(std::isnan(rounded(NAN)));
}

} // namespace
} // namespace tilewright
