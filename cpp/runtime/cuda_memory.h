// Memory of one CUDA device, given and taken back in the order of the streams' work: from a pool of
// our own where the device has pools, so that those of other libraries stay as they are; else with
// the driver's plain allocation and a list of free blocks.
#pragma once

#include "runtime/cuda_context.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace tilewright {

class CudaMemory {
public:
  explicit CudaMemory(const CudaContext &context);
  CudaMemory(const CudaMemory &) = delete;
  CudaMemory &operator=(const CudaMemory &) = delete;
  ~CudaMemory();

  /// For work that this thread puts on its stream; 256-byte aligned. Out of memory: Error(Device)
  /// with how much was asked for and how much there is.
  void *allocate(std::int64_t bytes);
  /// After what this thread has put on its stream.
  void release(void *memory) noexcept;
  /// Gives blocks that are free back to the driver.
  void trim();
  /// Bytes that are in use.
  std::int64_t in_use() const;

private:
  struct Free {
    void *memory;
    std::shared_ptr<CudaPlace> place; ///< after what is there it may be used again
  };

  cuda::Result ask(std::size_t bytes, cuda::Address &memory);
  void *take_free(std::size_t bytes);
  void give_back_free();
  [[noreturn]] void throw_out_of_memory(std::int64_t bytes);

  const CudaContext &context_;
  cuda::Pool pool_ = nullptr;
  mutable std::mutex mutex_;
  std::unordered_map<void *, std::size_t> sizes_; ///< of what is in use
  std::multimap<std::size_t, Free> free_;         ///< by size; without a pool
  std::size_t in_use_ = 0;
  std::size_t free_bytes_ = 0;
};

} // namespace tilewright
