#include "runtime/thread_pool.h"

#include "hardware/processor.h"
#include "runtime/quiet_thread.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdint>
#include <ctime>
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

/// A worker that has not begun after so long waits for a processor, perhaps for that of the caller.
constexpr std::chrono::microseconds time_to_begin{30};

constexpr unsigned count_bits = 16; ///< of a ticket: how many parts there are
static_assert(max_parts < 1 << count_bits);

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// For ten milliseconds at most.
void sleep_while(std::atomic<std::uint32_t> &word, std::uint32_t value) {
  static_assert(sizeof word == sizeof(std::uint32_t));
  const timespec longest{0, 10'000'000};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &longest, nullptr, 0);
}

void wake_one(std::atomic<std::uint32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

/// Workers are told apart when they are woken: a few parts need those workers only.
std::uint32_t bit_of_worker(int worker) { return 1U << (worker % 32); }

void sleep_as_worker(std::atomic<std::uint32_t> &word, std::uint32_t value, int worker) {
  syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, value, nullptr, nullptr,
          bit_of_worker(worker));
}

void wake_workers(std::atomic<std::uint32_t> &word, int count) {
  const std::uint32_t those =
      count >= 31 ? FUTEX_BITSET_MATCH_ANY : bit_of_worker(count + 1) - bit_of_worker(1);
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, nullptr, nullptr, those);
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

/// Where all processors are busy, the kernel likes to wake a thread on the one of who wakes it:
/// there it would wait for the caller, which waits for it. Moves it away; where it may run stays
/// the same.
void move_off_this_processor(pid_t thread) {
  cpu_set_t all;
  const int here = sched_getcpu();
  if (here < 0 || here >= CPU_SETSIZE || sched_getaffinity(thread, sizeof all, &all) != 0 ||
      !CPU_ISSET(here, &all) || CPU_COUNT(&all) == 1) {
    return;
  }
  cpu_set_t others = all;
  CPU_CLR(here, &others);
  if (sched_setaffinity(thread, sizeof others, &others) == 0) {
    sched_setaffinity(thread, sizeof all, &all);
  }
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

/// The pieces of a part that nobody has taken: those of [front, back) in a region of this number.
/// In an older region than the one at hand, all of them.
struct Untaken {
  std::uint64_t region;
  unsigned front;
  unsigned back;

  static constexpr unsigned bits = 8;
  static_assert(max_pieces < 1 << bits);

  explicit Untaken(std::uint64_t word)
      : region(word >> (2 * bits)), front((word >> bits) & max_pieces), back(word & max_pieces) {}
  Untaken(std::uint64_t region, unsigned front, unsigned back)
      : region(region), front(front), back(back) {}
  std::uint64_t word() const { return (region << (2 * bits)) | (front << bits) | back; }
};

/// One region in flight, in memory that is never given back: a late worker may look at it at any
/// time. The ticket carries the region's number and how many parts it has. The first piece that is
/// taken of a part puts that number into the part's mark; since at the end of a region nothing is
/// left in any of its parts, a worker with an old ticket takes nothing.
struct alignas(cache_line_bytes) Region {
  std::atomic<std::uint64_t> ticket{0};
  void (*work)(void *, int, int) = nullptr;
  void *argument = nullptr;
  std::uint64_t number = 0;   ///< of the last region here; its caller's
  std::atomic<int> pieces{1}; ///< of each part
  std::atomic<bool> taken{false};
  alignas(cache_line_bytes) std::atomic<std::uint32_t> pending{0}; ///< pieces that are not done
  std::atomic<bool> caller_sleeps{false};
  struct alignas(cache_line_bytes) Mark {
    std::atomic<std::uint64_t> untaken{0};
  };
  std::array<Mark, max_parts> marks;

  /// Takes the first piece of the part that is left, or the last one; -1: none is.
  int take(int part, std::uint64_t region, bool from_front) {
    std::atomic<std::uint64_t> &mark = marks[static_cast<std::size_t>(part)].untaken;
    std::uint64_t seen = mark.load(std::memory_order_relaxed);
    while (true) {
      Untaken left(seen);
      if (left.region > region) {
        return -1;
      }
      if (left.region < region) {
        // Of a later region, perhaps, but then the mark has changed and the exchange fails.
        left = Untaken(region, 0, static_cast<unsigned>(pieces.load(std::memory_order_relaxed)));
      }
      if (left.front == left.back) {
        return -1;
      }
      const unsigned piece = from_front ? left.front++ : --left.back;
      if (mark.compare_exchange_weak(seen, left.word(), std::memory_order_acq_rel,
                                     std::memory_order_relaxed)) {
        return static_cast<int>(piece);
      }
    }
  }

  bool begun(int part, std::uint64_t region) const {
    return Untaken(marks[static_cast<std::size_t>(part)].untaken.load(std::memory_order_relaxed))
               .region >= region;
  }

  /// Does what there is to take, the own part first; how many pieces that were. Calls
  /// `after_first` once.
  template <class AfterFirst>
  std::uint32_t work_off(int own, int parts, std::uint64_t region, const AfterFirst &after_first) {
    std::uint32_t done = 0;
    for (int k = 0; k < parts; ++k) {
      const int part = (own + k) % parts;
      for (int piece = take(part, region, k == 0); piece >= 0; piece = take(part, region, k == 0)) {
        // Taken and not reported, so the region cannot end before: its fields stand.
        work(argument, part, piece);
        if (++done == 1) {
          after_first();
        }
      }
    }
    return done;
  }

  void report(std::uint32_t done) {
    if (done > 0 && pending.fetch_sub(done) == done && caller_sleeps.load()) {
      wake_one(pending);
    }
  }
};

class Pool {
public:
  static Pool &get() {
    static Pool *pool = new Pool(); // workers outlive every static object
    return *pool;
  }

  void run(int parts, int pieces, void (*work)(void *, int, int), void (*waiting)(void *),
           void *argument);

private:
  Pool();
  Region *take_region();
  void need_workers(int count);
  static void *worker_main(void *number);
  void work_as(int worker);
  bool help(int worker);
  void start_again();
  void move_late_workers(const Region &region, int parts);

  std::array<Region, max_regions> regions_;
  alignas(cache_line_bytes) std::atomic<std::uint32_t> signal_{0}; ///< raised at each region
  alignas(cache_line_bytes) std::atomic<int> sleepers_{0};
  std::atomic<int> workers_{0};
  std::array<std::atomic<pid_t>, max_parts> threads_{}; ///< of the workers; 0: not known yet
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
  for (std::atomic<pid_t> &thread : threads_) {
    thread.store(0);
  }
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
  for (int next = workers_.load() + 1; next <= count; ++next) {
    const auto number = static_cast<std::intptr_t>(next);
    if (!start_detached_thread(worker_main, reinterpret_cast<void *>(number))) {
      break; // no more to be had: the others do its parts
    }
    workers_.store(next);
  }
}

void *Pool::worker_main(void *number) {
  Pool::get().work_as(static_cast<int>(reinterpret_cast<std::intptr_t>(number)));
  return nullptr;
}

void Pool::work_as(int worker) {
  threads_[static_cast<std::size_t>(worker)].store(static_cast<pid_t>(syscall(SYS_gettid)));
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
      sleep_as_worker(signal_, seen, worker);
    }
    sleepers_.fetch_sub(1);
  }
}

/// Takes what pieces there are to take, its own first; whether there were any.
bool Pool::help(int worker) {
  bool worked = false;
  for (Region &region : regions_) {
    const std::uint64_t ticket = region.ticket.load(std::memory_order_acquire);
    const int parts = static_cast<int>(ticket & ((1U << count_bits) - 1));
    // A pool that has grown for other regions gives this one no more threads than it has parts.
    const std::uint32_t done =
        worker < parts ? region.work_off(worker, parts, ticket >> count_bits, [] {}) : 0;
    region.report(done);
    worked = worked || done > 0;
  }
  return worked;
}

void Pool::move_late_workers(const Region &region, int parts) {
  constexpr int most = 8; // where more are late, the machine is too busy
  int late = 0;
  for (int part = 1; part < parts && late < most; ++part) {
    const pid_t thread = threads_[static_cast<std::size_t>(part)].load(std::memory_order_relaxed);
    if (!region.begun(part, region.number) && thread != 0) {
      move_off_this_processor(thread);
      ++late;
    }
  }
}

void Pool::run(int parts, int pieces, void (*work)(void *, int, int), void (*waiting)(void *),
               void *argument) {
  Region *region = take_region();
  if (region == nullptr) {
    for (int part = 0; part < parts; ++part) {
      for (int piece = 0; piece < pieces; ++piece) {
        work(argument, part, piece);
      }
    }
    return;
  }
  need_workers(parts - 1);
  region->work = work;
  region->argument = argument;
  region->pieces.store(pieces, std::memory_order_relaxed);
  const auto total = static_cast<std::uint32_t>(parts * pieces);
  region->pending.store(total, std::memory_order_relaxed);
  const std::uint64_t number = ++region->number;
  region->ticket.store((number << count_bits) | static_cast<std::uint64_t>(parts),
                       std::memory_order_release);
  signal_.fetch_add(1);
  if (sleepers_.load() > 0) {
    wake_workers(signal_, parts - 1);
  }
  // Only where there is something left for them then.
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = pieces > 1 ? Clock::now() : Clock::time_point::max();
  const std::uint32_t done = region->work_off(0, parts, number, [&] {
    if (pieces > 1 && Clock::now() - start > time_to_begin) {
      move_late_workers(*region, parts);
    }
  });
  if (region->pending.fetch_sub(done) != done) {
    const auto finished = [&] { return region->pending.load(std::memory_order_acquire) == 0; };
    if (!may_spin(parts) || !spin(caller_patience, finished)) {
      region->caller_sleeps.store(true);
      while (const std::uint32_t left = region->pending.load()) {
        sleep_while(region->pending, left);
        waiting(argument);
      }
      region->caller_sleeps.store(false);
    }
  }
  region->ticket.store(number << count_bits, std::memory_order_relaxed);
  region->taken.store(false, std::memory_order_release);
}

} // namespace

void run_on_pool(int parts, int pieces, void (*work)(void *argument, int part, int piece),
                 void (*waiting)(void *argument), void *argument) {
  Pool::get().run(std::min(parts, max_parts), std::min(pieces, max_pieces), work, waiting,
                  argument);
}

} // namespace tilewright
