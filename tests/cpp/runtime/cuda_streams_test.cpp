// Streams of threads on the double of the CUDA driver: where work goes, and what waits for what.
#include "cuda_fixture.h"
#include "runtime/code_lifetime.h"
#include "runtime/device_memory.h"

#include <algorithm>
#include <thread>
#include <vector>

namespace tilewright {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// ---- streams ----

TEST_F(CudaTest, WorkGoesToTheStreamOfTheThread) {
  const CudaStream stream(device_->context(), true);
  const auto place = device_->context().enter(stream.handle());
  fake().clear_log();
  void *memory = device_->allocate(64);
  device_->clear(memory, 64);
  std::thread([&] { device_->clear(memory, 32); }).join();
  device_->context().leave(place);
  device_->clear(memory, 16);
  EXPECT_THAT(log(), AllOf(HasSubstr("allocate 512 stream 3"), HasSubstr("clear 64 stream 3"),
                           HasSubstr("clear 32 stream 0"), HasSubstr("clear 16 stream 0")));
  device_->release(memory);
}

TEST_F(CudaTest, MemoryFollowsItsUse) {
  auto stream = std::make_unique<CudaStream>(device_->context(), true);
  DeviceMemory memory(*device_, 64);
  {
    const auto place = device_->context().enter(stream->handle());
    fake().clear_log();
    memory.use();
    EXPECT_THAT(log(), HasSubstr("record event 4 stream 0\nstream 3 waits for event 4\n"));
    fake().clear_log();
    memory.use();
    EXPECT_EQ(log(), "");
    device_->context().leave(place);
    EXPECT_THAT(log(), HasSubstr("record event 5 stream 3\n"));
  }
  // The stream is gone; what was on it is waited for.
  stream.reset();
  fake().clear_log();
  memory.use();
  EXPECT_EQ(log(), "stream 0 waits for event 5\n");
}

TEST_F(CudaTest, ThreadsThatUseMemoryAtTheSameTimeAreAllWaitedFor) {
  // Both have asked who used it before; then both give the device work, the first one last.
  const CudaContext &context = device_->context();
  const CudaStream one(context, true);
  const CudaStream other(context, true);
  PtxKernel kernel("shared_sum");
  {
    DeviceMemory memory(*device_, 64);
    const std::int64_t arguments[1] = {slot(memory.data())};
    const auto launch = [&] { device_->launch(kernel.constant, small_shape, arguments); };
    const auto first = context.enter(one.handle());
    memory.use();
    std::thread([&] {
      const auto second = context.enter(other.handle());
      memory.use();
      launch();
      memory.used();
      context.leave(second);
      context.synchronize(other.handle());
    }).join();
    launch();
    memory.used();
    context.leave(first);
    EXPECT_STREQ(fake().unordered(), "");
  }
  EXPECT_STREQ(fake().unordered(), ""); // it was given back after both
}

TEST_F(CudaTest, NestedStreams) {
  const CudaContext &context = device_->context();
  const auto outer = context.enter(cuda::per_thread_stream());
  const auto inner = context.enter(cuda::legacy_stream());
  EXPECT_EQ(context.stream(), nullptr); // one name for one stream
  context.leave(outer);                 // out of order, as generators may
  EXPECT_EQ(context.stream(), nullptr);
  context.leave(inner);
  EXPECT_EQ(context.stream(), nullptr);
}

TEST_F(CudaTest, StreamOfAnotherThreadIsWaitedForOnTheHost) {
  const CudaContext &context = device_->context();
  DeviceMemory memory(*device_, 64);
  std::thread([&] {
    const auto place = context.enter(cuda::per_thread_stream());
    memory.use();
    std::thread([&] {
      fake().clear_log();
      memory.use();
      EXPECT_THAT(log(), HasSubstr("synchronize context 0"));
    }).join();
    context.leave(place);
  }).join();
}

TEST_F(CudaTest, ManyThreads) {
  start("devices=2");
  CudaDevice second(*driver_, 1);
  PtxKernel kernel("add");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      CudaDevice &device = t % 2 == 0 ? *device_ : second;
      const CudaStream stream(device.context(), true);
      const auto place = device.context().enter(stream.handle());
      for (int i = 0; i < 200; ++i) {
        const DeviceMemory memory(device, 64 + i);
        const std::int64_t arguments[3] = {slot(memory.data()), slot(memory.data()), t};
        device.launch(kernel.constant, small_shape, arguments);
        std::int64_t back[3] = {};
        device.copy_in(memory.data(), arguments, 24);
        device.copy_out(back, memory.data(), 24);
        EXPECT_EQ(back[2], t);
        if (i % 50 == 0) {
          dropped_code.fetch_add(1);
        }
      }
      device.context().leave(place);
      EXPECT_EQ(fake().depth(), 0);
    });
  }
  for (std::thread &thread : threads) {
    thread.join();
  }
  EXPECT_EQ(fake().modules(), 2);
  EXPECT_EQ(fake().bytes_in_use(0) + fake().bytes_in_use(1), 0U);
}

} // namespace
} // namespace tilewright
