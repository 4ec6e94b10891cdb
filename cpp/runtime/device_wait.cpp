#include "runtime/device_wait.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace tilewright {

namespace {
thread_local CallRecord *record_of_thread = nullptr;
} // namespace

EndableWaits::EndableWaits(CallRecord &record)
    : before_(std::exchange(record_of_thread, record.ask != nullptr ? &record : nullptr)) {}

EndableWaits::~EndableWaits() { record_of_thread = before_; }

bool waits_may_end() { return record_of_thread != nullptr; }

void wait_until(const std::function<bool()> &is_done) {
  using Clock = std::chrono::steady_clock;
  using std::chrono::microseconds;
  constexpr microseconds at_once(100); // as long as most kernels take
  constexpr microseconds longest_pause(2000);
  constexpr int share = 32; // of the time so far
  const Clock::time_point begun = Clock::now();
  while (!is_done()) {
    const auto taken = std::chrono::duration_cast<microseconds>(Clock::now() - begun);
    if (taken < at_once) {
      continue;
    }
    if (record_of_thread != nullptr && record_of_thread->ask(*record_of_thread)) {
      record_of_thread->stop.store(1, std::memory_order_relaxed);
      throw WaitEnded();
    }
    std::this_thread::sleep_for(std::min(taken / share, longest_pause));
  }
}

} // namespace tilewright
