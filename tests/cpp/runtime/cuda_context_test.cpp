// Contexts against the test double of libcuda, whose handles of devices are none of their ordinals:
// what is given where the other is due is no device.
#include "fake_cuda.h"
#include "runtime/cuda_context.h"
#include "runtime/cuda_driver.h"

#include <gtest/gtest.h>

#include <dlfcn.h>

namespace tilewright {

namespace {

template <class F>
F *of_the_double(const char *name) {
  static void *const library = dlopen(FAKE_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<F *>(dlsym(library, name));
}

TEST(CudaContextTest, WhatIsRetainedIsReleased) {
  of_the_double<decltype(fake_cuda_configure)>("fake_cuda_configure")("devices=3");
  auto *const retained = of_the_double<decltype(fake_cuda_retained)>("fake_cuda_retained");
  const CudaDriver driver(FAKE_CUDA_LIBRARY);
  for (const int number : {0, 2}) {
    {
      const CudaContext context(driver, number);
      EXPECT_EQ(context.properties().name, "Fake GPU " + std::to_string(number));
      for (const int device : {0, 1, 2}) {
        EXPECT_EQ(retained(device), device == number ? 1 : 0);
      }
    }
    EXPECT_EQ(retained(number), 0) << "the context of device " << number << " was not given back";
  }
}

} // namespace
} // namespace tilewright
