// One thread for work that nobody waits for: heavier optimisation of kernels that already run. It
// starts at the first job, runs one after another with a lower priority, and ends with the process
// at whatever point it is. A child of fork has none of the parent's jobs and starts its own thread.
#pragma once

#include <functional>

namespace tilewright {

struct BackgroundJob {
  std::function<void()> work;      ///< must not throw
  std::function<void()> abandoned; ///< in a child of fork, in place of `work`; must not lock
};

/// False where no thread can be had; nothing is called then.
bool run_in_background(BackgroundJob job);

/// While one of these lives in some thread, fork waits in the others: LLVM has locks of its own
/// that a child would find taken for ever. Held around calls of LLVM only, never around our own
/// locks.
class ForkGuard {
public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard &) = delete;
  ForkGuard &operator=(const ForkGuard &) = delete;

  /// Lets a fork that waits have its turn.
  static void pause();
};

} // namespace tilewright
