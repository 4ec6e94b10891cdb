#include "runtime/thread_pool.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <linux/futex.h>
#include <mutex>
#include <new>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright {

namespace {

/// Regions of so many callers may be in flight at once.
constexpr int max_regions = 4;

/// How long a worker looks for the next region before it sleeps: kernels are often a few loops, one
/// after another, and waking a thread takes about as long.
constexpr std::chrono::microseconds patience{50};

/// The same for a caller whose own parts are done.
constexpr std::chrono::microseconds caller_patience{200};

constexpr std::size_t line = 64;
constexpr unsigned part_bits = 16;
static_assert(max_parts < 1 << part_bits);

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void sleep_while(std::atomic<std::uint32_t> &word, std::uint32_t value) {
  static_assert(sizeof word == sizeof(std::uint32_t));
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(std::atomic<std::uint32_t> &word, int count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

/// Spins until `done()` or the time is over; whether it was done.
template <class Done>
bool spin(std::chrono::microseconds time, const Done &done) {
  constexpr int between_looks_at_the_clock = 32;
  const auto end = std::chrono::steady_clock::now() + time;
  do {
    for (int i = 0; i < between_looks_at_the_clock; ++i) {
      if (done()) {
        return true;
      }
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

/// Spinning where the threads have to share processors keeps the others from working.
bool may_spin(int threads) {
  static const int processors = [] {
    cpu_set_t set;
    CPU_ZERO(&set);
    return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  }();
  return threads <= processors;
}

/// One region in flight, in memory that is never given back: a late worker may look at it at any
/// time. The ticket carries the region's number and how many parts it has. A part is claimed by
/// raising its mark to that number; since at the end of a region all of its parts' marks have it,
/// a worker with an old ticket claims nothing.
struct alignas(line) Region {
  std::atomic<std::uint64_t> ticket{0};
  void (*work)(void *, int) = nullptr;
  void *argument = nullptr;
  std::uint64_t number = 0; ///< of the last region here; its caller's
  std::atomic<bool> taken{false};
  alignas(line) std::atomic<std::uint32_t> pending{0}; ///< parts that are not done
  std::atomic<bool> caller_sleeps{false};
  struct alignas(line) Mark {
    std::atomic<std::uint64_t> number{0};
  };
  std::array<Mark, max_parts> marks;

  bool claim(int part, std::uint64_t region) {
    std::atomic<std::uint64_t> &mark = marks[static_cast<std::size_t>(part)].number;
    std::uint64_t seen = mark.load(std::memory_order_relaxed);
    return seen < region && mark.compare_exchange_strong(seen, region, std::memory_order_acq_rel);
  }

  void done(std::uint32_t parts) {
    if (pending.fetch_sub(parts) == parts && caller_sleeps.load()) {
      wake(pending, 1);
    }
  }
};

class Pool {
public:
  static Pool &get() {
    static Pool *pool = new Pool(); // workers outlive every static object
    return *pool;
  }

  void run(int parts, void (*work)(void *, int), void *argument);

private:
  Pool();
  Region *take_region();
  void need_workers(int count);
  static void *worker_main(void *number);
  void work_as(int worker);
  bool help(int worker);
  void start_again();

  std::array<Region, max_regions> regions_;
  alignas(line) std::atomic<std::uint32_t> signal_{0}; ///< raised at each region
  alignas(line) std::atomic<int> sleepers_{0};
  std::atomic<int> workers_{0};
  std::mutex starting_;
};

Pool::Pool() {
  pthread_atfork([] { Pool::get().starting_.lock(); }, [] { Pool::get().starting_.unlock(); },
                 [] { Pool::get().start_again(); });
}

/// In a child of fork, which has one thread.
void Pool::start_again() {
  workers_.store(0);
  sleepers_.store(0);
  for (Region &region : regions_) {
    region.ticket.store(0);
    region.taken.store(false);
  }
  starting_.unlock();
}

Region *Pool::take_region() {
  for (Region &region : regions_) {
    if (!region.taken.load(std::memory_order_relaxed) &&
        !region.taken.exchange(true, std::memory_order_acquire)) {
      return &region;
    }
  }
  return nullptr;
}

void Pool::need_workers(int count) {
  if (workers_.load(std::memory_order_relaxed) >= count) {
    return;
  }
  const std::lock_guard lock(starting_);
  // Signals are for the threads of the program.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t detached;
  pthread_attr_init(&detached);
  pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
  for (int next = workers_.load() + 1; next <= count; ++next) {
    pthread_t thread{};
    const auto number = static_cast<std::intptr_t>(next);
    if (pthread_create(&thread, &detached, worker_main, reinterpret_cast<void *>(number)) != 0) {
      break; // no more to be had: the others do its parts
    }
    workers_.store(next);
  }
  pthread_attr_destroy(&detached);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void *Pool::worker_main(void *number) {
  Pool::get().work_as(static_cast<int>(reinterpret_cast<std::intptr_t>(number)));
  return nullptr;
}

void Pool::work_as(int worker) {
  while (true) {
    const std::uint32_t seen = signal_.load();
    if (help(worker)) {
      continue;
    }
    const auto called = [&] { return signal_.load(std::memory_order_relaxed) != seen; };
    if (may_spin(workers_.load(std::memory_order_relaxed) + 1) && spin(patience, called)) {
      continue;
    }
    sleepers_.fetch_add(1);
    if (signal_.load() == seen) {
      sleep_while(signal_, seen);
    }
    sleepers_.fetch_sub(1);
  }
}

/// Takes what parts there are to take, its own first; whether there were any.
bool Pool::help(int worker) {
  bool worked = false;
  for (Region &region : regions_) {
    const std::uint64_t ticket = region.ticket.load(std::memory_order_acquire);
    const std::uint64_t number = ticket >> part_bits;
    const int parts = static_cast<int>(ticket & ((1U << part_bits) - 1));
    for (int k = 0; k < parts; ++k) {
      const int part = (worker + k) % parts;
      if (region.claim(part, number)) {
        // Claimed, so the region cannot end before this part: its fields stand.
        region.work(region.argument, part);
        region.done(1);
        worked = true;
      }
    }
  }
  return worked;
}

void Pool::run(int parts, void (*work)(void *, int), void *argument) {
  Region *region = take_region();
  if (region == nullptr) {
    for (int part = 0; part < parts; ++part) {
      work(argument, part);
    }
    return;
  }
  need_workers(parts - 1);
  region->work = work;
  region->argument = argument;
  region->pending.store(static_cast<std::uint32_t>(parts), std::memory_order_relaxed);
  const std::uint64_t number = ++region->number;
  region->claim(0, number);
  region->ticket.store((number << part_bits) | static_cast<std::uint64_t>(parts),
                       std::memory_order_release);
  signal_.fetch_add(1);
  if (const int sleeping = sleepers_.load(); sleeping > 0) {
    wake(signal_, std::min(sleeping, parts - 1));
  }
  work(argument, 0);
  std::uint32_t done = 1;
  for (int part = 1; part < parts; ++part) {
    if (region->claim(part, number)) {
      work(argument, part);
      ++done;
    }
  }
  if (region->pending.fetch_sub(done) != done) {
    const auto finished = [&] { return region->pending.load(std::memory_order_acquire) == 0; };
    if (!may_spin(parts) || !spin(caller_patience, finished)) {
      region->caller_sleeps.store(true);
      while (const std::uint32_t left = region->pending.load()) {
        sleep_while(region->pending, left);
      }
      region->caller_sleeps.store(false);
    }
  }
  region->ticket.store(number << part_bits, std::memory_order_relaxed);
  region->taken.store(false, std::memory_order_release);
}

} // namespace

void run_on_pool(int parts, void (*work)(void *argument, int part), void *argument) {
  Pool::get().run(std::min(parts, max_parts), work, argument);
}

} // namespace tilewright
