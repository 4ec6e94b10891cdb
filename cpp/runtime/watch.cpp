#include "runtime/watch.h"

#include <algorithm>
#include <chrono>
#include <mutex>

using tilewright::KernelFailure;

void tilewright_report_check(KernelFailure *failure, std::int64_t site, std::int64_t value,
                             std::int64_t extent, const std::int64_t *reports, std::int64_t count) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (failure->reported > 0) {
    return;
  }
  failure->site = site;
  failure->value = value;
  failure->extent = extent;
  failure->reported = std::min(count, KernelFailure::max_reported);
  std::copy(reports, reports + failure->reported, failure->reports);
}

std::int64_t tilewright_clock() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void tilewright_add_time(KernelFailure *failure, std::int64_t nest, std::int64_t start) {
  if (failure->times != nullptr) {
    failure->times[nest] += tilewright_clock() - start;
  }
}
