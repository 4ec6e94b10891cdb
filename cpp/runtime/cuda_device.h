// A CUDA device behind the interface of runtime/device.h: what compiled host code and device arrays
// use. Work goes to the stream that this thread has entered on the device, the legacy default
// stream if none.
#pragma once

#include "runtime/cuda_context.h"
#include "runtime/cuda_memory.h"
#include "runtime/cuda_modules.h"
#include "runtime/device.h"

#include <cstdint>
#include <string>

namespace tilewright {

class CudaDevice final : public Device {
public:
  /// The process's, which stays. Throws Error(Device) where there is no such device.
  static CudaDevice &get(int number);

  CudaDevice(const CudaDriver &driver, int number);

  const CudaContext &context() const { return context_; }
  CudaModules &modules() { return modules_; }
  CudaMemory &memory() { return memory_; }

  std::string name() const override { return context_.title(); }
  void *allocate(std::int64_t bytes) override { return memory_.allocate(bytes); }
  void release(void *memory) noexcept override { memory_.release(memory); }
  /// Returns when the host's bytes may change.
  void copy_in(void *device, const void *host, std::int64_t bytes) override;
  void copy_out(void *host, const void *device, std::int64_t bytes) override;
  void copy(void *to, const void *from, std::int64_t bytes) override;
  void clear(void *memory, std::int64_t bytes) override;
  void launch(const DeviceKernel &kernel, const LaunchShape &shape, const void *arguments) override;
  void synchronize() override { context_.synchronize(context_.stream()); }

  void copy_in_rows(void *device, std::int64_t device_pitch, const void *host,
                    std::int64_t host_pitch, std::int64_t bytes, std::int64_t rows) override;
  void copy_out_rows(void *host, std::int64_t host_pitch, const void *device,
                     std::int64_t device_pitch, std::int64_t bytes, std::int64_t rows) override;
  std::shared_ptr<void> place() override { return context_.place(); }
  void wait_for(const std::shared_ptr<void> &place) override;

private:
  void require_fits(const DeviceKernel &kernel, const LaunchShape &shape) const;
  void allow_shared(CudaFunction &function, std::int64_t bytes) const;
  [[noreturn]] void throw_launch_error(cuda::Result result, const CudaFunction &function,
                                       const LaunchShape &shape) const;

  CudaContext context_;
  CudaMemory memory_;
  CudaModules modules_;
};

} // namespace tilewright
