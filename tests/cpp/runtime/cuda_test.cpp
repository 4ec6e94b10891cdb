// The CUDA driver's side of the runtime against its double: what is asked of the driver, memory,
// copies, contexts, and what every error becomes.
#include "cuda_fixture.h"
#include "runtime/device_memory.h"
#include "runtime/device_wait.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <vector>

namespace tilewright {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
  PtxKernel add("add");
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
  PtxKernel add("add");
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
    PtxKernel kernel("shared_sum");
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
  PtxKernel add("add");
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

} // namespace
} // namespace tilewright
