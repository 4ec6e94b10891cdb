// The machine code of one kernel, which may be replaced by better code of the same kernel at any
// time: calls that begin later run that, and what ran before stays in memory, for calls in flight,
// as long as the kernel. Shared by all functions that have the kernel; all members may be called
// from any thread.
#pragma once

#include "runtime/jit.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace tilewright {

/// Where the code of a kernel comes from and goes to.
enum class Improvement {
  None,    ///< stays as it is
  Pending, ///< better code is being made in the background
  Done,    ///< it has been replaced
  Failed   ///< the better code could not be made; the first runs on
};

class KernelCode {
public:
  explicit KernelCode(LoadedCode first) : address_(first.address) {
    loaded_.push_back(std::move(first));
  }
  KernelCode(const KernelCode &) = delete;
  KernelCode &operator=(const KernelCode &) = delete;

  void *address() const { return address_.load(std::memory_order_acquire); }

  void replace(LoadedCode better) {
    const std::lock_guard lock(mutex_);
    address_.store(better.address, std::memory_order_release);
    loaded_.push_back(std::move(better));
  }

  Improvement improvement() const { return improvement_.load(std::memory_order_acquire); }
  /// Whether this changed it: of several that want to begin an improvement, one may.
  bool change(Improvement from, Improvement to) {
    return improvement_.compare_exchange_strong(from, to);
  }

  /// Why the improvement failed.
  std::string problem() const {
    const std::lock_guard lock(mutex_);
    return problem_;
  }
  void set_problem(std::string problem) {
    const std::lock_guard lock(mutex_);
    problem_ = std::move(problem);
  }

private:
  std::atomic<void *> address_;
  std::atomic<Improvement> improvement_{Improvement::None};
  mutable std::mutex mutex_;
  std::vector<LoadedCode> loaded_;
  std::string problem_;
};

} // namespace tilewright
