// Tests of the CUDA driver's side against a test double of libcuda, loaded by the same dlopen.
#pragma once

#include "fake_cuda.h"
#include "polyhedral/error.h"
#include "runtime/cache.h"
#include "runtime/cuda_device.h"
#include "runtime/cuda_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <dlfcn.h>
#include <filesystem>
#include <memory>
#include <string>
#include <unistd.h>
#include <utility>

namespace tilewright {

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

inline const Fake &fake() {
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

inline const std::string add_ptx = R"(
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
struct PtxKernel {
  explicit PtxKernel(const char *name, std::string text = add_ptx) : ptx(std::move(text)) {
    constant.name = name;
    constant.ptx = ptx.c_str();
    constant.ptx_bytes = static_cast<std::int64_t>(ptx.size());
    constant.argument_count = std::string(name) == "add" ? 3 : 1;
  }
  std::string ptx;
  DeviceKernel constant{};
};

inline std::int64_t slot(const void *memory) { return reinterpret_cast<std::int64_t>(memory); }

inline constexpr LaunchShape small_shape = {{4, 1, 1}, {128, 1, 1}, 0};

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

} // namespace tilewright
