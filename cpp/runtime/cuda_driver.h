// NVIDIA's driver library, loaded at first use: libcuda.so.1, or what the environment's
// TILEWRIGHT_CUDA_DRIVER names. Where it, a device, or a function in it is missing, or where it is
// too old, Error(Device) says what was looked for and what to do. A child of a process that used
// CUDA cannot use it, as with every CUDA program, and is told so.
#pragma once

#include "polyhedral/error.h"
#include "runtime/cuda_api.h"

#include <string>

namespace tilewright {

class CudaDriver {
public:
  /// The process's; from any thread. A driver that could not be used is looked for again only where
  /// the environment names another one.
  static CudaDriver &get();

  explicit CudaDriver(const std::string &path);
  CudaDriver(const CudaDriver &) = delete;
  CudaDriver &operator=(const CudaDriver &) = delete;
  ~CudaDriver();

  const cuda::Functions &functions() const { return functions_; }
  const std::string &path() const { return path_; }
  int version() const { return version_; } ///< 12040 for CUDA 12.4
  int device_count() const { return device_count_; }

  /// "CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected"
  std::string describe(cuda::Result result) const;
  /// Throws where `result` is an error: "cannot <doing>: <what the driver says>".
  void check(cuda::Result result, const std::string &doing) const;

  /// Whether this process is a child of one that used CUDA.
  static bool is_lost_in_fork();
  /// Throws where it is.
  static void require_process();

private:
  void load_functions();
  void start();

  std::string path_;
  void *library_ = nullptr;
  cuda::Functions functions_;
  int version_ = 0;
  int device_count_ = 0;
};

/// "12.4"
std::string cuda_version_text(int version);

} // namespace tilewright
