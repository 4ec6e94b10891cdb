// The CUDA driver's side of the runtime against a test double of libcuda, loaded by the same
// dlopen: values, what is asked of the driver, and what every error becomes.
#include "fake_cuda.h"
#include "polyhedral/error.h"
#include "runtime/cache.h"
#include "runtime/code_lifetime.h"
#include "runtime/cuda_device.h"
#include "runtime/cuda_driver.h"
#include "runtime/device_memory.h"
#include "runtime/device_wait.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <filesystem>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace tilewright {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The double's own functions, from the library that the driver loads.
struct Fake {
  void *library = dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  template <class F>
  F *function(const char *name) const {
    return reinterpret_cast<F *>(dlsym(library, name));
  }
  decltype(&fake_cuda_configure) configure =
      function<decltype(fake_cuda_configure)>("fake_cuda_configure");
  decltype(&fake_cuda_add) add = function<decltype(fake_cuda_add)>("fake_cuda_add");
  decltype(&fake_cuda_log) log = function<decltype(fake_cuda_log)>("fake_cuda_log");
  decltype(&fake_cuda_clear_log) clear_log =
      function<decltype(fake_cuda_clear_log)>("fake_cuda_clear_log");
  decltype(&fake_cuda_calls) calls = function<decltype(fake_cuda_calls)>("fake_cuda_calls");
  decltype(&fake_cuda_context_depth) depth =
      function<decltype(fake_cuda_context_depth)>("fake_cuda_context_depth");
  decltype(&fake_cuda_push_foreign) push_foreign =
      function<decltype(fake_cuda_push_foreign)>("fake_cuda_push_foreign");
  decltype(&fake_cuda_pop_foreign) pop_foreign =
      function<decltype(fake_cuda_pop_foreign)>("fake_cuda_pop_foreign");
  decltype(&fake_cuda_bytes_in_use) bytes_in_use =
      function<decltype(fake_cuda_bytes_in_use)>("fake_cuda_bytes_in_use");
  decltype(&fake_cuda_unordered) unordered =
      function<decltype(fake_cuda_unordered)>("fake_cuda_unordered");
  decltype(&fake_cuda_modules) modules = function<decltype(fake_cuda_modules)>("fake_cuda_modules");
  decltype(&fake_cuda_set_executor) set_executor =
      function<decltype(fake_cuda_set_executor)>("fake_cuda_set_executor");
};

const Fake &fake() {
  static const Fake only;
  return only;
}

template <class F>
std::string message_of(F &&call) {
  try {
    call();
  } catch (const Error &error) {
    EXPECT_EQ(error.kind, ErrorKind::Device);
    return error.what();
  }
  return "no error";
}

const std::string add_ptx = R"(
.version 8.0
.target sm_75
.address_size 64
.visible .entry add(
  .param .u64 to,
  .param .u64 from,
  .param .u32 count
) { ret; }
.visible .entry shared_sum(.param .u64 to) { ret; }
.visible .entry heavy(.param .u64 to) { ret; }
)";

/// A kernel with arguments, as compiled code has them.
struct Kernel {
  explicit Kernel(const char *name, std::string text = add_ptx) : ptx(std::move(text)) {
    constant.name = name;
    constant.ptx = ptx.c_str();
    constant.ptx_bytes = static_cast<std::int64_t>(ptx.size());
    constant.argument_count = std::string(name) == "add" ? 3 : 1;
  }
  std::string ptx;
  DeviceKernel constant{};
};

std::int64_t slot(const void *memory) { return reinterpret_cast<std::int64_t>(memory); }

constexpr LaunchShape small_shape = {{4, 1, 1}, {128, 1, 1}, 0};

class CudaTest : public ::testing::Test {
protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() /
              ("tilewright-cuda-test-" + std::to_string(getpid()));
    std::filesystem::remove_all(folder_);
    set_cache_directory(folder_.string());
    start("");
  }
  void TearDown() override {
    device_.reset();
    driver_.reset();
    std::filesystem::remove_all(folder_);
    set_cache_directory("");
  }
  /// The double starts anew, and with it the driver and its device 0.
  void start(const std::string &settings) {
    device_.reset();
    driver_.reset();
    fake().configure(settings.c_str());
    driver_ = std::make_unique<CudaDriver>(FAKE_CUDA_LIBRARY);
    device_ = std::make_unique<CudaDevice>(*driver_, 0);
  }
  std::string log() { return fake().log(); }

  std::filesystem::path folder_;
  std::unique_ptr<CudaDriver> driver_;
  std::unique_ptr<CudaDevice> device_;
};

// ---- the driver ----

TEST_F(CudaTest, DriverIsLoadedAndDescribed) {
  EXPECT_EQ(driver_->version(), 12040);
  EXPECT_EQ(driver_->device_count(), 1);
  EXPECT_EQ(driver_->describe(cuda::IllegalAddress),
            "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered");
  EXPECT_EQ(driver_->describe(12345), "error 12345, which this driver does not know");
}

TEST_F(CudaTest, AbsentDriverIsNamed) {
  const std::string message = message_of([] { const CudaDriver driver("/nowhere/libcuda.so.1"); });
  EXPECT_THAT(message, AllOf(HasSubstr("'/nowhere/libcuda.so.1' cannot be loaded"),
                             HasSubstr("TILEWRIGHT_CUDA_DRIVER"), HasSubstr("gpu-emulator")));
}

TEST_F(CudaTest, OtherLibraryIsNoDriver) {
  EXPECT_THAT(message_of([] { const CudaDriver driver("libm.so.6"); }),
              HasSubstr("'libm.so.6' is not NVIDIA's driver library"));
}

TEST_F(CudaTest, OldDriverIsRefused) {
  fake().configure("version=11080");
  EXPECT_THAT(message_of([] { const CudaDriver driver(FAKE_CUDA_LIBRARY); }),
              AllOf(HasSubstr("is of CUDA 11.8; CUDA 12.0 or newer is needed"),
                    HasSubstr("update the driver")));
}

TEST_F(CudaTest, MissingFunctionIsNamed) {
  EXPECT_THAT(message_of([] { const CudaDriver driver(OLD_FAKE_CUDA_LIBRARY); }),
              AllOf(HasSubstr("has no cuLinkCreate_v2;"), HasSubstr("CUDA 12.4")));
}

TEST_F(CudaTest, NoDevice) {
  const auto load = [] { const CudaDriver driver(FAKE_CUDA_LIBRARY); };
  unsetenv("CUDA_VISIBLE_DEVICES");
  fake().configure("init=100");
  EXPECT_THAT(message_of(load), AllOf(HasSubstr("finds no CUDA device"), HasSubstr("nvidia-smi")));
  fake().configure("devices=0");
  setenv("CUDA_VISIBLE_DEVICES", "7", 1);
  EXPECT_THAT(message_of(load),
              AllOf(HasSubstr("finds no CUDA device"), HasSubstr("CUDA_VISIBLE_DEVICES is '7'")));
  unsetenv("CUDA_VISIBLE_DEVICES");
}

TEST_F(CudaTest, ResultsOfTheStartComeWithAdvice) {
  const auto load = [] { const CudaDriver driver(FAKE_CUDA_LIBRARY); };
  fake().configure("init=803");
  EXPECT_THAT(message_of(load),
              AllOf(HasSubstr("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)"), HasSubstr("restart")));
  fake().configure("init=34");
  EXPECT_THAT(message_of(load), HasSubstr("take its folder (.../lib64/stubs)"));
  fake().configure("version=-34"); // what a toolkit's stub does
  EXPECT_THAT(message_of(load), AllOf(HasSubstr("does not tell its version: error 34"),
                                      HasSubstr("take its folder (.../lib64/stubs)")));
  fake().configure("init=999");
  EXPECT_THAT(message_of(load), HasSubstr("/dev/nvidia-uvm"));
}

TEST_F(CudaTest, DeviceThatIsNotThere) {
  start("devices=2");
  EXPECT_THAT(message_of([&] { const CudaDevice device(*driver_, 2); }),
              HasSubstr("there is no device cuda:2; this process sees 2 (cuda:0 to cuda:1)"));
}

// ---- memory and copies ----

TEST_F(CudaTest, BytesGoInAndOut) {
  std::vector<int> values(1000);
  std::iota(values.begin(), values.end(), 0);
  void *a = device_->allocate(4000);
  void *b = device_->allocate(4000);
  EXPECT_EQ(slot(a) % 256, 0);
  device_->copy_in(a, values.data(), 4000);
  device_->copy(b, a, 4000);
  device_->clear(b, 400);
  std::vector<int> found(1000, -1);
  device_->copy_out(found.data(), b, 4000);
  std::fill(values.begin(), values.begin() + 100, 0);
  EXPECT_EQ(found, values);
  device_->release(a);
  device_->release(b);
  EXPECT_EQ(fake().bytes_in_use(0), 0U);
  EXPECT_NE(device_->allocate(0), nullptr);
}

TEST_F(CudaTest, RowsGoInAndOut) {
  const std::vector<int> values = {1, 2, 3, 4, 5, 6};
  void *memory = device_->allocate(64);
  device_->clear(memory, 64);
  device_->copy_in_rows(memory, 16, values.data(), 8, 8, 3);
  std::vector<int> all(16);
  device_->copy_out(all.data(), memory, 64);
  EXPECT_EQ(all, (std::vector<int>{1, 2, 0, 0, 3, 4, 0, 0, 5, 6, 0, 0, 0, 0, 0, 0}));
  std::vector<int> back(6);
  device_->copy_out_rows(back.data(), 8, memory, 16, 8, 3);
  EXPECT_EQ(back, values);
  device_->release(memory);
}

TEST_F(CudaTest, RowsThatAreFarApartGoOneByOne) {
  start("pitch=16");
  const std::vector<int> values = {1, 2, 3, 4, 5, 6};
  void *memory = device_->allocate(64);
  device_->clear(memory, 64);
  device_->copy_in_rows(memory, 20, values.data(), 8, 8, 3);
  std::vector<int> all(16);
  device_->copy_out(all.data(), memory, 64);
  EXPECT_EQ(all, (std::vector<int>{1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 5, 6, 0, 0, 0, 0}));
  std::vector<int> back(15);
  device_->copy_out_rows(back.data(), 20, memory, 20, 8, 3);
  EXPECT_EQ(back, (std::vector<int>{1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 5, 6, 0, 0, 0}));
  device_->release(memory);
}

TEST_F(CudaTest, OutOfMemoryTellsHowMuch) {
  start("memory=4194304");
  void *first = device_->allocate(3 << 20);
  try {
    device_->allocate(2 << 20);
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("cuda:0 (Fake GPU 0) is out of memory: 2.0 MiB were asked for"),
                      HasSubstr("1.0 MiB of 4.0 MiB are free; 3.0 MiB are in arrays")));
    EXPECT_EQ(error.details.at("asked"), "2097152");
    EXPECT_EQ(error.details.at("free"), "1048576");
  }
  EXPECT_THAT(log(), HasSubstr("trim")); // what was kept was given back first
  device_->release(first);
  device_->release(device_->allocate(4 << 20)); // it goes on
}

TEST_F(CudaTest, WithoutPoolsBlocksAreUsedAgain) {
  start("pools=0");
  void *first = device_->allocate(1000);
  device_->release(first);
  EXPECT_EQ(device_->allocate(1000), first);
  EXPECT_EQ(fake().calls("cuMemAlloc_v2"), 1);
  // On another stream, its use comes after that of before.
  device_->release(first);
  const CudaStream stream(device_->context(), false);
  const auto place = device_->context().enter(stream.handle());
  fake().clear_log();
  EXPECT_EQ(device_->allocate(1000), first);
  EXPECT_THAT(log(), AllOf(HasSubstr("stream 0\n"), HasSubstr("waits for event")));
  device_->release(first);
  device_->context().leave(place);
  device_->memory().trim();
  EXPECT_EQ(fake().bytes_in_use(0), 0U);
}

TEST_F(CudaTest, WithoutPoolsFullMemoryIsGivenBackFirst) {
  start("pools=0;memory=40960000");
  void *kept = device_->allocate(1 << 20);
  device_->release(kept);
  EXPECT_EQ(fake().bytes_in_use(0), std::size_t{1} << 20);
  void *all = device_->allocate(40900000);
  EXPECT_NE(all, nullptr);
  device_->release(all); // too much to keep
  EXPECT_EQ(fake().bytes_in_use(0), 0U);
}

TEST_F(CudaTest, CallsThatCannotBeginLeaveNothing) {
  fake().add("fail=cuMemsetD8Async:1:2");
  EXPECT_THAT(message_of([&] { const DeviceCall call(*device_, true); }),
              HasSubstr("CUDA_ERROR_OUT_OF_MEMORY"));
  EXPECT_EQ(fake().bytes_in_use(0), 0U);
}

// ---- contexts ----

TEST_F(CudaTest, ContextStackIsLeftAsFound) {
  EXPECT_EQ(fake().depth(), 0);
  fake().push_foreign();
  void *memory = device_->allocate(16);
  Kernel add("add");
  const std::int64_t arguments[3] = {slot(memory), slot(memory), 4};
  device_->launch(add.constant, small_shape, arguments);
  device_->synchronize();
  device_->release(memory);
  fake().add("fail=cuMemcpyHtoDAsync_v2:*:1");
  EXPECT_NE(message_of([&] { device_->copy_in(memory, arguments, 16); }), "no error");
  EXPECT_EQ(fake().depth(), 1);
  EXPECT_EQ(fake().pop_foreign(), 1);
}

TEST_F(CudaTest, SeveralDevicesAreKeptApart) {
  start("devices=2");
  CudaDevice second(*driver_, 1);
  EXPECT_EQ(second.name(), "cuda:1 (Fake GPU 1)");
  Kernel add("add");
  for (CudaDevice *device : {device_.get(), &second}) {
    void *memory = device->allocate(16);
    const std::int64_t arguments[3] = {slot(memory), slot(memory), 4};
    device->launch(add.constant, small_shape, arguments);
    device->release(memory);
  }
  EXPECT_EQ(fake().modules(), 2);
  EXPECT_THAT(log(), AllOf(HasSubstr("load_module device 0"), HasSubstr("load_module device 1")));
  // Streams entered on one are none of the other's.
  const CudaStream stream(second.context(), true);
  const auto place = second.context().enter(stream.handle());
  EXPECT_EQ(device_->context().stream(), nullptr);
  EXPECT_EQ(second.context().stream(), stream.handle());
  second.context().leave(place);
  EXPECT_EQ(second.context().stream(), nullptr);
}

// ---- launches ----

TEST_F(CudaTest, ArgumentsAreTakenAsDeclared) {
  Kernel add("add");
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
  Kernel add("add");
  const std::int64_t arguments[3] = {slot(a), slot(b), 4};
  device_->launch(add.constant, small_shape, arguments);
  std::vector<int> found(4);
  device_->copy_out(found.data(), a, 16);
  EXPECT_EQ(found, (std::vector<int>{2, 4, 6, 8}));
  device_->release(a);
  device_->release(b);
}

TEST_F(CudaTest, EmptyLaunchesDoNothing) {
  Kernel add("add");
  device_->launch(add.constant, {{0, 1, 1}, {32, 1, 1}, 0}, nullptr);
  device_->launch(add.constant, {{1, 1, 1}, {32, 0, 1}, 0}, nullptr);
  EXPECT_THAT(log(), Not(HasSubstr("launch")));
}

TEST_F(CudaTest, TooLargeLaunchesAreRefused) {
  Kernel add("add");
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
  Kernel heavy("heavy");
  EXPECT_THAT(
      message_of([&] { device_->launch(heavy.constant, {{1, 1, 1}, {512, 1, 1}, 0}, arguments); }),
      AllOf(HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"),
            HasSubstr("40 registers a thread"), HasSubstr("at most 256 threads, not 512")));
}

TEST_F(CudaTest, SharedMemoryIsAskedFor) {
  Kernel kernel("shared_sum");
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
  Kernel first("add");
  Kernel again("add"); // other code in memory, the same PTX
  Kernel other("shared_sum");
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
  Kernel kernel("add");
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
  Kernel kernel("add");
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
  Kernel kernel("add", add_ptx + "wrong_instruction;");
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
  Kernel newer("add", add_ptx.substr(0, add_ptx.find("sm_75")) + "sm_90" +
                          add_ptx.substr(add_ptx.find("sm_75") + 5));
  start("capability=80");
  EXPECT_THAT(message_of([&] { device_->launch(newer.constant, small_shape, arguments); }),
              HasSubstr("CUDA_ERROR_NO_BINARY_FOR_GPU (209)"));
}

TEST_F(CudaTest, KernelsThatAreNotThere) {
  Kernel missing("subtract");
  const std::int64_t arguments[3] = {};
  EXPECT_THAT(message_of([&] { device_->launch(missing.constant, small_shape, arguments); }),
              AllOf(HasSubstr("find kernel 'subtract'"), HasSubstr("named symbol not found")));
  Kernel emulated("add");
  emulated.constant.ptx = nullptr;
  EXPECT_THAT(message_of([&] { device_->launch(emulated.constant, small_shape, arguments); }),
              HasSubstr("compiled for the emulator"));
}

// ---- errors ----

TEST_F(CudaTest, EveryFunctionsErrorIsReported) {
  // All that a program calls; each fails in turn, once, and the device works afterwards.
  const auto program = [](const CudaDriver &driver) {
    CudaDevice device(driver, 0);
    DeviceMemory memory(device, 64);
    const std::int64_t values[8] = {};
    device.copy_in(memory.data(), values, 64);
    device.clear(memory.data(), 64);
    device.copy_in_rows(memory.data(), 16, values, 16, 8, 4);
    Kernel kernel("shared_sum");
    const std::int64_t arguments[1] = {slot(memory.data())};
    device.launch(kernel.constant, {{1, 1, 1}, {32, 1, 1}, 60 << 10}, arguments);
    std::int64_t found[8];
    device.copy_out(found, memory.data(), 64);
    device.copy_out_rows(found, 16, memory.data(), 16, 8, 4);
    const CudaStream stream(device.context(), true);
    CudaEvent event(device.context());
    event.record(stream.handle());
    event.hold(nullptr);
    event.synchronize();
    event.is_done();
    CudaEvent later(device.context());
    later.record(stream.handle());
    later.since(event);
    const auto place = device.context().enter(stream.handle());
    memory.use();
    device.context().leave(place);
    device.synchronize();
    device.context().synchronize();
  };
  const char *const functions[] = {"cuDeviceGetCount",      "cuDeviceGet",
                                   "cuDeviceGetName",       "cuDeviceTotalMem_v2",
                                   "cuDeviceGetAttribute",  "cuDevicePrimaryCtxRetain",
                                   "cuCtxGetCurrent",       "cuCtxPushCurrent_v2",
                                   "cuCtxSynchronize",      "cuModuleLoadDataEx",
                                   "cuModuleGetFunction",   "cuLinkCreate_v2",
                                   "cuLinkAddData_v2",      "cuLinkComplete",
                                   "cuFuncGetAttribute",    "cuFuncSetAttribute",
                                   "cuLaunchKernel",        "cuMemPoolCreate",
                                   "cuMemPoolSetAttribute", "cuMemAllocFromPoolAsync",
                                   "cuMemcpyHtoDAsync_v2",  "cuMemcpyDtoHAsync_v2",
                                   "cuMemcpy2DAsync_v2",    "cuMemsetD8Async",
                                   "cuStreamCreate",        "cuStreamSynchronize",
                                   "cuStreamWaitEvent",     "cuEventCreate",
                                   "cuEventRecord",         "cuEventQuery",
                                   "cuEventSynchronize",    "cuEventElapsedTime"};
  device_.reset();
  driver_.reset();
  for (const char *function : functions) {
    SCOPED_TRACE(function);
    std::filesystem::remove_all(folder_); // so that the compiler is asked
    fake().configure(("fail=" + std::string(function) + ":1:1").c_str());
    const std::string message = message_of([&] {
      const CudaDriver driver(FAKE_CUDA_LIBRARY);
      program(driver);
    });
    EXPECT_THAT(message,
                AllOf(HasSubstr("cannot "), HasSubstr("CUDA_ERROR_INVALID_VALUE (1): invalid")));
    EXPECT_EQ(fake().depth(), 0);
    const CudaDriver driver(FAKE_CUDA_LIBRARY);
    program(driver);
    EXPECT_EQ(fake().bytes_in_use(0), 0U);
  }
}

TEST_F(CudaTest, FinalErrorsLoseTheDevice) {
  start("fault=add:700;devices=2");
  CudaDevice second(*driver_, 1);
  void *memory = device_->allocate(64);
  Kernel add("add");
  const std::int64_t arguments[3] = {slot(memory), slot(memory), 4};
  device_->launch(add.constant, small_shape, arguments);
  try {
    device_->synchronize();
    FAIL();
  } catch (const Error &error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)"),
                                    HasSubstr("the last one launched was 'add'"),
                                    HasSubstr("CUDA_LAUNCH_BLOCKING"),
                                    HasSubstr("cannot use the device any more")));
    EXPECT_THAT(error.details.at("lost"), HasSubstr("ILLEGAL_ADDRESS"));
  }
  const std::string later = message_of([&] { device_->allocate(16); });
  EXPECT_THAT(later, AllOf(HasSubstr("cuda:0 (Fake GPU 0) is lost to this process since an "
                                     "earlier error: cannot wait for a stream"),
                           HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS (700)")));
  device_->release(memory); // nothing, and no error
  EXPECT_EQ(fake().depth(), 0);
  // The other device is as well as before.
  void *other = second.allocate(64);
  second.copy_in(other, arguments, 24);
  second.release(other);
}

TEST_F(CudaTest, OtherErrorsDoNot) {
  fake().add("fail=cuMemsetD8Async:1:1");
  void *memory = device_->allocate(64);
  EXPECT_THAT(message_of([&] { device_->clear(memory, 64); }),
              HasSubstr("cannot clear 64 bytes on the device on cuda:0"));
  device_->clear(memory, 64);
  device_->release(memory);
}

// ---- waits that may end ----

/// Asked three times, it ends the wait.
struct Impatient : CallRecord {
  Impatient() {
    ask = [](CallRecord &record) { return ++static_cast<Impatient &>(record).times == 3; };
  }
  int times = 0;
};

TEST_F(CudaTest, WaitsEnd) {
  DeviceMemory memory(*device_, 64);
  std::int64_t values[8] = {};
  CudaEvent event(device_->context());
  event.record(nullptr);
  fake().add("busy=60000");
  const std::function<void()> waits[] = {
      [&] { device_->synchronize(); },
      [&] { event.synchronize(); },
      [&] { device_->copy_in(memory.data(), values, 64); },
      [&] { device_->copy_out(values, memory.data(), 64); },
      [&] { device_->copy_in_rows(memory.data(), 16, values, 16, 8, 4); },
      [&] { device_->copy_out_rows(values, 16, memory.data(), 16, 8, 4); }};
  for (const auto &wait : waits) {
    Impatient record;
    const EndableWaits endable(record);
    EXPECT_THROW(wait(), WaitEnded);
    EXPECT_EQ(record.times, 3);
    EXPECT_EQ(record.stop.load(), 1);
  }
  EXPECT_FALSE(waits_may_end());
  EXPECT_FALSE(event.is_done());
  fake().add("busy=0");
  for (const auto &wait : waits) {
    wait();
  }
  EXPECT_EQ(fake().depth(), 0);
}

TEST_F(CudaTest, WaitsThatNobodyEndsLast) {
  CallRecord record;
  record.ask = [](CallRecord &) { return false; };
  const EndableWaits endable(record);
  const auto start = std::chrono::steady_clock::now();
  fake().add("busy=50");
  device_->synchronize();
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(50));
  fake().add("busy=50");
  device_->context().synchronize();
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(100));
  // Errors are found on this way, too.
  fake().add("fail=cuStreamQuery:1:1;fail=cuCtxSynchronize:1:1");
  EXPECT_THAT(message_of([&] { device_->synchronize(); }), HasSubstr("cannot wait for a stream"));
  EXPECT_THAT(message_of([&] { device_->context().synchronize(); }),
              HasSubstr("cannot wait for the device"));
}

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
  Kernel kernel("shared_sum");
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
  Kernel kernel("add");
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
  Kernel kernel("subtract");
  const std::int64_t arguments[1] = {};
  EXPECT_EQ(call.launch(kernel.constant, small_shape, arguments), KernelDeviceError);
  KernelFailure record;
  EXPECT_THAT(message_of([&] { call.finish(KernelDeviceError, record, false, true); }),
              HasSubstr("find kernel 'subtract'"));
}

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
