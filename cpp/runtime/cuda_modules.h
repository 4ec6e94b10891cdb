// Kernels in the memory of one CUDA device. PTX is compiled by the driver once for each device,
// capability and driver version: the binary goes to the kernel cache (runtime/cache.h), where the
// next process finds it. A kernel launched again is found by its address.
#pragma once

#include "runtime/cuda_context.h"
#include "runtime/device.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>

namespace tilewright {

struct CudaFunction {
  std::string name;
  cuda::Function handle = nullptr;
  std::int64_t static_shared_bytes = 0;
  std::int64_t max_threads = 0; ///< of a block, by its registers
  std::int64_t registers = 0;
  /// How much shared memory a launch may have at the time, beside the static.
  std::atomic<std::int64_t> allowed_shared_bytes{0};
};

class CudaModules {
public:
  explicit CudaModules(const CudaContext &context) : context_(context) {}
  CudaModules(const CudaModules &) = delete;
  CudaModules &operator=(const CudaModules &) = delete;
  ~CudaModules();

  /// A function, which stays loaded as long as this lives.
  struct Held {
    std::shared_lock<std::shared_mutex> lock;
    CudaFunction &function;
  };
  /// The kernel's function, loaded if need be. The context must be current.
  Held hold(const DeviceKernel &kernel);

  struct Counts {
    std::int64_t compiled = 0;   ///< PTX by the driver
    std::int64_t from_cache = 0; ///< binaries found on disk
    std::int64_t loaded = 0;     ///< modules that are in memory
  };
  Counts counts() const;

private:
  struct Loaded {
    cuda::Module handle = nullptr;
    std::string ptx;
    std::unordered_map<std::string, std::unique_ptr<CudaFunction>> functions;
  };
  /// What was found at a kernel's address, and how to tell that it is there still.
  struct Known {
    std::uint64_t dropped_code;
    const char *name;
    const char *ptx;
    std::int64_t ptx_bytes;
    CudaFunction *function;
  };

  CudaFunction *find(const DeviceKernel &kernel) const;
  void load(const DeviceKernel &kernel);
  cuda::Module load_module(const std::string &ptx);
  std::string compile(const std::string &ptx);
  void unload_all();

  const CudaContext &context_;
  mutable std::shared_mutex mutex_; ///< shared while a function is used
  std::unordered_map<const DeviceKernel *, Known> known_;
  std::unordered_map<std::string, std::unique_ptr<Loaded>> modules_; ///< by PTX
  Counts counts_;
};

} // namespace tilewright
