// Launches, modules and whole calls on the double of the CUDA driver.
#include "cuda_fixture.h"
#include "runtime/code_lifetime.h"
#include "runtime/device_memory.h"

#include <cstring>
#include <numeric>
#include <vector>

namespace tilewright {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// ---- launches ----

TEST_F(CudaTest, ArgumentsAreTakenAsDeclared) {
  PtxKernel add("add");
  const std::int64_t arguments[3] = {0x1122334455667788, 16, 0x1000000ff};
  device_->launch(add.constant, {{4, 3, 2}, {32, 2, 1}, 64}, arguments);
  EXPECT_THAT(log(), HasSubstr("launch add grid 4 3 2 block 32 2 1 shared 64 stream 0 args "
                               "1122334455667788,0000000000000010,000000ff\n"));
}

TEST_F(CudaTest, KernelsRun) {
  fake().set_executor(
      [](const char *name, const unsigned *, const unsigned *, void **arguments, int count) {
        ASSERT_STREQ(name, "add");
        ASSERT_EQ(count, 3);
        int *to = *static_cast<int **>(arguments[0]);
        const int *from = *static_cast<int **>(arguments[1]);
        for (int i = 0; i < *static_cast<int *>(arguments[2]); ++i) {
          to[i] += from[i];
        }
      });
  const std::vector<int> values = {1, 2, 3, 4};
  void *a = device_->allocate(16);
  void *b = device_->allocate(16);
  device_->copy_in(a, values.data(), 16);
  device_->copy_in(b, values.data(), 16);
  PtxKernel add("add");
  const std::int64_t arguments[3] = {slot(a), slot(b), 4};
  device_->launch(add.constant, small_shape, arguments);
  std::vector<int> found(4);
  device_->copy_out(found.data(), a, 16);
  EXPECT_EQ(found, (std::vector<int>{2, 4, 6, 8}));
  device_->release(a);
  device_->release(b);
}

TEST_F(CudaTest, EmptyLaunchesDoNothing) {
  PtxKernel add("add");
  device_->launch(add.constant, {{0, 1, 1}, {32, 1, 1}, 0}, nullptr);
  device_->launch(add.constant, {{1, 1, 1}, {32, 0, 1}, 0}, nullptr);
  EXPECT_THAT(log(), Not(HasSubstr("launch")));
}

TEST_F(CudaTest, TooLargeLaunchesAreRefused) {
  PtxKernel add("add");
  const std::int64_t arguments[3] = {};
  const auto launch = [&](const LaunchShape &shape) {
    return message_of([&] { device_->launch(add.constant, shape, arguments); });
  };
  EXPECT_THAT(launch({{1, 65536, 1}, {32, 1, 1}, 0}),
              AllOf(HasSubstr("asks for a grid of 1 x 65536 x 1 blocks"),
                    HasSubstr("at most 2147483647 x 65535 x 65535 blocks")));
  EXPECT_THAT(launch({{1LL << 32, 1, 1}, {32, 1, 1}, 0}), HasSubstr("4294967296"));
  EXPECT_THAT(launch({{1, 1, 1}, {64, 32, 1}, 0}),
              AllOf(HasSubstr("64 x 32 x 1 = 2048 threads"), HasSubstr("at most 1024")));
  PtxKernel heavy("heavy");
  EXPECT_THAT(
      message_of([&] { device_->launch(heavy.constant, {{1, 1, 1}, {512, 1, 1}, 0}, arguments); }),
      AllOf(HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"),
            HasSubstr("40 registers a thread"), HasSubstr("at most 256 threads, not 512")));
}

TEST_F(CudaTest, SharedMemoryIsAskedFor) {
  PtxKernel kernel("shared_sum");
  const std::int64_t arguments[1] = {};
  const auto launch = [&](std::int64_t bytes) {
    device_->launch(kernel.constant, {{1, 1, 1}, {32, 1, 1}, bytes}, arguments);
  };
  launch(47 << 10); // with its static kibibyte just what is there anyway
  EXPECT_THAT(log(), Not(HasSubstr("allow_shared")));
  launch(64 << 10);
  launch(50 << 10);
  EXPECT_EQ(fake().calls("cuFuncSetAttribute"), 1);
  EXPECT_THAT(message_of([&] { launch(100 << 10); }),
              AllOf(HasSubstr("asks for 103424 bytes of shared memory"),
                    HasSubstr("its static 1024 bytes"), HasSubstr("at most 102400")));
}

// ---- modules ----

TEST_F(CudaTest, ModulesAreLoadedOnceForEachText) {
  PtxKernel first("add");
  PtxKernel again("add"); // other code in memory, the same PTX
  PtxKernel other("shared_sum");
  const std::int64_t arguments[3] = {};
  for (int i = 0; i < 3; ++i) {
    device_->launch(first.constant, small_shape, arguments);
    device_->launch(again.constant, small_shape, arguments);
    device_->launch(other.constant, small_shape, arguments);
  }
  EXPECT_EQ(fake().modules(), 1);
  EXPECT_EQ(device_->modules().counts().compiled, 1);
  EXPECT_EQ(fake().calls("cuModuleGetFunction"), 2);
}

TEST_F(CudaTest, AnotherKernelAtTheSameAddressIsFound) {
  const std::int64_t arguments[3] = {};
  PtxKernel kernel("add");
  device_->launch(kernel.constant, small_shape, arguments);
  // Code is dropped and other code takes its place, to the last pointer.
  std::string other = add_ptx;
  other.replace(other.find(".u32 count"), 10, ".u16 count");
  ASSERT_EQ(other.size(), kernel.ptx.size());
  std::memcpy(kernel.ptx.data(), other.data(), other.size());
  dropped_code.fetch_add(1);
  fake().clear_log();
  const std::int64_t values[3] = {1, 2, 0x10003};
  device_->launch(kernel.constant, small_shape, values);
  EXPECT_THAT(log(), HasSubstr(",0003\n"));
  EXPECT_EQ(fake().modules(), 2);
}

TEST_F(CudaTest, BinariesComeFromTheCache) {
  PtxKernel kernel("add");
  const std::int64_t arguments[3] = {};
  device_->launch(kernel.constant, small_shape, arguments);
  EXPECT_EQ(device_->modules().counts().compiled, 1);
  const auto launch_in_new_process = [&](const std::string &settings) {
    start(settings);
    device_->launch(kernel.constant, small_shape, arguments);
    return device_->modules().counts();
  };
  EXPECT_EQ(launch_in_new_process("").compiled, 0);
  EXPECT_EQ(fake().calls("cuLinkCreate_v2"), 0);
  EXPECT_EQ(device_->modules().counts().from_cache, 1);
  // Another driver, another device: another key.
  EXPECT_EQ(launch_in_new_process("version=12050").compiled, 1);
  EXPECT_EQ(launch_in_new_process("capability=80").compiled, 1);
  // A binary that the driver refuses is made anew.
  const auto refused = launch_in_new_process("fail=cuModuleLoadDataEx:1:209");
  EXPECT_EQ(refused.compiled, 1);
  EXPECT_EQ(refused.from_cache, 0);
  // A damaged file is none.
  for (const auto &file : std::filesystem::directory_iterator(folder_)) {
    std::filesystem::resize_file(file.path(), std::filesystem::file_size(file.path()) - 1);
  }
  EXPECT_EQ(launch_in_new_process("").compiled, 1);
}

TEST_F(CudaTest, CompilersLogIsInTheMessage) {
  PtxKernel kernel("add", add_ptx + "wrong_instruction;");
  const std::int64_t arguments[3] = {};
  const auto launch = [&] {
    return message_of([&] { device_->launch(kernel.constant, small_shape, arguments); });
  };
  EXPECT_THAT(launch(), AllOf(HasSubstr("line 7; error   : Not a name of any known instruction"),
                              HasSubstr("CUDA_ERROR_INVALID_PTX (218)")));
  EXPECT_EQ(fake().calls("cuLinkDestroy"), 1);
  start("ptx=78");
  EXPECT_THAT(launch(), AllOf(HasSubstr("CUDA_ERROR_UNSUPPORTED_PTX_VERSION (222)"),
                              HasSubstr("update the driver")));
  PtxKernel newer("add", add_ptx.substr(0, add_ptx.find("sm_75")) + "sm_90" +
                             add_ptx.substr(add_ptx.find("sm_75") + 5));
  start("capability=80");
  EXPECT_THAT(message_of([&] { device_->launch(newer.constant, small_shape, arguments); }),
              HasSubstr("CUDA_ERROR_NO_BINARY_FOR_GPU (209)"));
}

TEST_F(CudaTest, KernelsThatAreNotThere) {
  PtxKernel missing("subtract");
  const std::int64_t arguments[3] = {};
  EXPECT_THAT(message_of([&] { device_->launch(missing.constant, small_shape, arguments); }),
              AllOf(HasSubstr("find kernel 'subtract'"), HasSubstr("named symbol not found")));
  PtxKernel emulated("add");
  emulated.constant.ptx = nullptr;
  EXPECT_THAT(message_of([&] { device_->launch(emulated.constant, small_shape, arguments); }),
              HasSubstr("compiled for the emulator"));
}

// ---- calls of compiled functions ----

TEST_F(CudaTest, CallsGiveBackWhatTheyTook) {
  {
    DeviceCall call(*device_);
    EXPECT_NE(call.allocate(1000), nullptr);
    void *second = call.allocate(1000);
    call.release(second);
    KernelFailure record;
    EXPECT_EQ(call.finish(KernelOk, record, true, false), KernelOk);
  }
  EXPECT_EQ(fake().bytes_in_use(0), 0U);
}

TEST_F(CudaTest, CallsThrowWhatLaunchesMet) {
  DeviceCall call(*device_);
  PtxKernel kernel("subtract");
  const std::int64_t arguments[1] = {};
  EXPECT_EQ(call.launch(kernel.constant, small_shape, arguments), KernelDeviceError);
  KernelFailure record;
  EXPECT_THAT(message_of([&] { call.finish(KernelDeviceError, record, false, true); }),
              HasSubstr("find kernel 'subtract'"));
}

} // namespace
} // namespace tilewright
