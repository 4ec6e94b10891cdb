// Runs a hand-made kernel of the loop IR on small arrays.
#pragma once

#include "loops/build.h"
#include "loops/loop_ir.h"
#include "runtime/abi.h"
#include "runtime/jit.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// A compiled kernel, alive as long as this.
struct RunnableKernel {
  LoadedCode code;
  std::string llvm; ///< optimised
  std::string assembly;
  KernelEntry entry() const { return reinterpret_cast<KernelEntry>(code.address); }
};

RunnableKernel compile_kernel(const Kernel &kernel, bool fast_math = false,
                              const std::string &cpu = "");

/// An array argument: bytes, base and byte strides.
struct TestArray {
  std::vector<std::byte> bytes;
  std::ptrdiff_t base = 0; ///< byte offset of the element at index 0
  std::vector<std::int64_t> strides;

  template <class T>
  static TestArray of(const std::vector<T> &values) {
    TestArray array;
    array.bytes.resize(values.size() * sizeof(T));
    if (!values.empty()) {
      std::memcpy(array.bytes.data(), values.data(), array.bytes.size());
    }
    array.strides = {static_cast<std::int64_t>(sizeof(T))};
    return array;
  }
  template <class T>
  std::vector<T> values() const {
    std::vector<T> result(bytes.size() / sizeof(T));
    if (!result.empty()) {
      std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
    }
    return result;
  }
};

/// Calls with the parameters and arrays in order; returns the status.
std::int32_t run_kernel(const RunnableKernel &kernel, const std::vector<std::int64_t> &parameters,
                        std::vector<TestArray *> arrays, CallRecord *record = nullptr);

/// An argument of the given rank, extents unknown to the kernel; the last dimension contiguous
/// unless `unit` says else.
KernelBuffer argument(const std::string &name, ScalarType type, int rank, bool is_written,
                      int unit = -2);
KernelBuffer temporary(const std::string &name, ScalarType type, std::vector<ValuePtr> extents);

} // namespace tilewright
