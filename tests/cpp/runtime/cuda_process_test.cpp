// The CUDA driver of a process: who names it, and what its children may do.
#include "cuda_fixture.h"
#include "runtime/cuda_driver.h"
#include "runtime/device_memory.h"

#include <cstdlib>
#include <sys/wait.h>
#include <thread>
#include <vector>

namespace tilewright {

namespace {

using ::testing::HasSubstr;

// ---- the process's driver ----

/// The exit of a process, which says whether its part of a test went well.
template <class F>
[[noreturn]] void run_and_exit(F &&body) {
  try {
    body();
  } catch (const std::exception &error) {
    ADD_FAILURE() << error.what();
  }
  _exit(::testing::Test::HasFailure() ? 1 : 0);
}

template <class F>
void in_child(F &&body) {
  const pid_t child = fork();
  if (child == 0) {
    run_and_exit(body);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/// In a new process, not a copy of this one: what is done once for each.
template <class F>
void in_new_process(F &&body) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(run_and_exit(body), ::testing::ExitedWithCode(0), "");
}

TEST(CudaProcessDeathTest, EnvironmentNamesTheDriver) {
  in_new_process([] {
    setenv("TILEWRIGHT_CUDA_DRIVER", "/nowhere/libcuda.so", 1);
    EXPECT_THAT(message_of([] { CudaDriver::get(); }), HasSubstr("/nowhere/libcuda.so"));
    EXPECT_THAT(message_of([] { CudaDevice::get(0); }), HasSubstr("/nowhere/libcuda.so"));
    setenv("TILEWRIGHT_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    fake().configure("devices=2");
    EXPECT_EQ(CudaDevice::get(1).name(), "cuda:1 (Fake GPU 1)");
    EXPECT_EQ(&CudaDevice::get(1), &CudaDevice::get(1));
    EXPECT_THAT(message_of([] { CudaDevice::get(-1); }), HasSubstr("no device cuda:-1"));
    EXPECT_EQ(fake().calls("cuInit"), 1);
  });
}

TEST(CudaProcessDeathTest, ChildrenAreToldThatCudaIsLost) {
  in_new_process([] {
    setenv("TILEWRIGHT_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    fake().configure("");
    CudaDevice &device = CudaDevice::get(0);
    DeviceMemory memory(device, 64);
    in_child([&] {
      const std::string said = message_of([&] { device.clear(memory.data(), 64); });
      EXPECT_THAT(said, AllOf(HasSubstr("forked"), HasSubstr("spawn")));
      EXPECT_THAT(message_of([] { CudaDevice::get(0); }), HasSubstr("forked"));
      EXPECT_THAT(message_of([] { CudaDriver::get(); }), HasSubstr("forked"));
      device.release(memory.data()); // nothing, and no error
    });
    device.clear(memory.data(), 64); // the parent goes on
  });
}

TEST(CudaProcessDeathTest, ChildrenOfAProcessThatDidNotUseItMay) {
  in_new_process([] {
    setenv("TILEWRIGHT_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    fake().configure("");
    in_child([] { EXPECT_EQ(CudaDevice::get(0).name(), "cuda:0 (Fake GPU 0)"); });
    EXPECT_EQ(CudaDevice::get(0).name(), "cuda:0 (Fake GPU 0)");
  });
}

TEST(CudaProcessDeathTest, FirstUseFromManyThreads) {
  in_new_process([] {
    setenv("TILEWRIGHT_CUDA_DRIVER", FAKE_CUDA_LIBRARY, 1);
    fake().configure("devices=3");
    std::vector<std::thread> threads;
    for (int t = 0; t < 12; ++t) {
      threads.emplace_back([t] {
        CudaDevice &device = CudaDevice::get(t % 3);
        device.release(device.allocate(100));
      });
    }
    for (std::thread &thread : threads) {
      thread.join();
    }
    EXPECT_EQ(fake().calls("cuInit"), 1);
    EXPECT_EQ(fake().calls("cuDevicePrimaryCtxRetain"), 3);
  });
}

} // namespace
} // namespace tilewright
