#include "runtime/parallel.h"

#include "hardware/processor.h"
#include "polyhedral/error.h"
#include "runtime/abi.h"
#include "runtime/thread_count.h"
#include "runtime/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <vector>

namespace tilewright {

namespace {

/// GNU's entry points, which LLVM's and Intel's libraries have too.
struct OpenMP {
  void (*parallel)(void (*)(void *), void *, unsigned, unsigned) = nullptr;
  int (*thread_number)() = nullptr;
  int (*team_size)() = nullptr;
  int (*in_parallel)() = nullptr;
  std::string path;
  bool survives_fork = false;
};

std::atomic<int> requested_threads{0};
std::atomic<bool> forked{false};
std::mutex runtime_mutex;
const OpenMP *runtime = nullptr; // guarded by runtime_mutex until it is set; never freed
std::atomic<bool> runtime_known{false};
thread_local bool inside_region = false;

std::string base_name(const std::string &path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

/// LLVM's and Intel's library, under the names that distributions and wheels give them
/// ("libgomp-a34b3233.so.1").
bool is_llvm_library(const std::string &name) {
  return name.starts_with("libomp.so") || name.starts_with("libomp-") ||
         name.starts_with("libomp5") || name.starts_with("libiomp5");
}

bool is_gnu_library(const std::string &name) {
  return name.starts_with("libgomp.so") || name.starts_with("libgomp-");
}

int note_library(dl_phdr_info *info, size_t, void *found) {
  static_cast<std::vector<std::string> *>(found)->emplace_back(info->dlpi_name);
  return 0;
}

bool bind(const std::string &path, int flags, OpenMP &out) {
  void *library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL | flags);
  if (library == nullptr) {
    return false;
  }
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  if (!find(out.parallel, "GOMP_parallel") || !find(out.thread_number, "omp_get_thread_num") ||
      !find(out.team_size, "omp_get_num_threads") || !find(out.in_parallel, "omp_in_parallel")) {
    return false;
  }
  out.path = path;
  out.survives_fork = is_llvm_library(base_name(path));
  return true;
}

const OpenMP *find_runtime() {
  std::vector<std::string> loaded;
  dl_iterate_phdr(note_library, &loaded);
  auto made = std::make_unique<OpenMP>();
  for (const bool llvm : {true, false}) {
    for (const std::string &path : loaded) {
      const std::string name = base_name(path);
      if ((llvm ? is_llvm_library(name) : is_gnu_library(name)) && bind(path, RTLD_NOLOAD, *made)) {
        return made.release();
      }
    }
  }
  // Our own copy. LLVM's and Intel's library end the process when they meet another of their kind;
  // one that is loaded after ours, by some other package, must not.
  setenv("KMP_DUPLICATE_LIB_OK", "TRUE", /*overwrite=*/0);
  for (const char *path :
       {"libomp.so.5", "libomp.so", "/usr/lib/llvm-19/lib/libomp.so.5", "libgomp.so.1"}) {
    if (bind(path, 0, *made)) {
      return made.release();
    }
  }
  *made = OpenMP{};
  made->path = "threads";
  return made.release();
}

bool wants_openmp() {
  const char *text = std::getenv("TILEWRIGHT_THREADS");
  return text != nullptr && std::string(text) == "openmp";
}

/// The library to use, or nothing (`parallel` is null): our own threads.
const OpenMP &openmp() {
  if (!runtime_known.load(std::memory_order_acquire)) {
    const std::lock_guard lock(runtime_mutex);
    if (runtime == nullptr) {
      runtime = wants_openmp() ? find_runtime() : new OpenMP{.path = "threads"};
      pthread_atfork([] { runtime_mutex.lock(); }, [] { runtime_mutex.unlock(); },
                     [] {
                       runtime_mutex.unlock();
                       forked.store(true);
                       inside_region = false;
                     });
      runtime_known.store(true, std::memory_order_release);
    }
  }
  return *runtime;
}

/// Less work than this, about a microsecond, is done sooner than what another core has written is
/// fetched from there. The environment may say another number: 0 always takes threads.
std::int64_t least_work() {
  static const std::int64_t least = [] {
    const char *text = std::getenv("TILEWRIGHT_LEAST_PARALLEL_WORK");
    return text == nullptr ? std::int64_t{6'000} : std::int64_t{std::strtoll(text, nullptr, 10)};
  }();
  return least;
}

/// So many pieces of a thread's range may go to another one. Each costs a call, some ten
/// nanoseconds; what a thread without a processor holds up is one of them.
constexpr std::uint64_t usual_pieces = 16;
static_assert(usual_pieces <= max_pieces);

/// One parallel loop in flight. Differences are unsigned: a range may span more than half of int64.
struct Loop {
  const OpenMP *openmp;
  std::int64_t begin;
  std::uint64_t length;
  std::uint64_t chunk; ///< 0: equal ranges
  bool dynamic;
  int parts;
  int pieces; ///< of a part
  void *closure;
  ParallelBody body;
  CallRecord *record;
  std::atomic<std::int32_t> status{KernelOk};
  alignas(cache_line_bytes) std::atomic<std::uint64_t> next{
      0}; ///< dynamic: the first iteration not dealt

  void run_piece(int part, int piece) {
    if (chunk == 0) {
      run_range(static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(piece));
    } else if (dynamic) {
      run_free_chunks();
    } else {
      run_chunks(static_cast<std::uint64_t>(part), static_cast<std::uint64_t>(piece));
    }
  }

  /// Whether the call is to go on; else the loop has failed.
  bool may_go_on() {
    if (status.load(std::memory_order_relaxed) == KernelOk) {
      note(tilewright_poll(record));
    }
    return status.load(std::memory_order_relaxed) == KernelOk;
  }

private:
  struct Share {
    std::uint64_t first;
    std::uint64_t last;
  };

  /// Of `total` things dealt out to `count` in equal numbers, those of `place`.
  static Share share(std::uint64_t total, int count, std::uint64_t place) {
    const std::uint64_t each = total / static_cast<std::uint64_t>(count);
    const std::uint64_t rest = total % static_cast<std::uint64_t>(count);
    const std::uint64_t first = place * each + std::min(place, rest);
    return {first, first + each + (place < rest ? 1 : 0)};
  }

  void run_range(std::uint64_t part, std::uint64_t piece) {
    const auto [begin_of_part, end_of_part] = share(length, parts, part);
    const auto [first, last] = share(end_of_part - begin_of_part, pieces, piece);
    run(begin_of_part + first, begin_of_part + last);
  }

  /// The part has the chunks part, part + parts, ...
  void run_chunks(std::uint64_t part, std::uint64_t piece) {
    const std::uint64_t stride = static_cast<std::uint64_t>(parts);
    const std::uint64_t chunks = (length - 1) / chunk + 1;
    const auto [first, last] = share((chunks - part - 1) / stride + 1, pieces, piece);
    for (std::uint64_t k = first; k < last; ++k) {
      const std::uint64_t start = (part + k * stride) * chunk;
      if (!run(start, start + std::min(chunk, length - start))) {
        return;
      }
    }
  }

  void run_free_chunks() {
    while (true) {
      const std::uint64_t first = next.fetch_add(chunk, std::memory_order_relaxed);
      if (first >= length || !run(first, first + std::min(chunk, length - first))) {
        return;
      }
    }
  }

  bool run(std::uint64_t first, std::uint64_t last) {
    if (first == last) {
      return true;
    }
    if (!may_go_on()) {
      return false;
    }
    const std::uint64_t start = static_cast<std::uint64_t>(begin);
    const std::int32_t result = body(static_cast<std::int64_t>(start + first),
                                     static_cast<std::int64_t>(start + last), closure);
    note(result);
    return result == KernelOk;
  }

  /// The first failure is the loop's.
  void note(std::int32_t result) {
    if (result != KernelOk) {
      std::int32_t expected = KernelOk;
      status.compare_exchange_strong(expected, result);
    }
  }
};

void pool_piece(void *argument, int part, int piece) {
  inside_region = true;
  static_cast<Loop *>(argument)->run_piece(part, piece);
  inside_region = false;
}

/// The caller has nothing to do but to wait, perhaps for a long time.
void pool_waits(void *argument) { static_cast<Loop *>(argument)->may_go_on(); }

/// The library may give fewer threads than were asked for.
void openmp_part(void *argument) {
  auto &loop = *static_cast<Loop *>(argument);
  const int team = loop.openmp->team_size();
  for (int part = loop.openmp->thread_number(); part < loop.parts; part += team) {
    pool_piece(argument, part, 0);
  }
}

} // namespace

int num_threads() {
  const int requested = requested_threads.load(std::memory_order_relaxed);
  return requested > 0 ? requested : environment_threads();
}

void set_num_threads(int count) {
  if (count < 0) {
    throw Error(ErrorKind::Argument,
                "the number of threads must be at least 0, not " + std::to_string(count));
  }
  requested_threads.store(count);
}

std::string parallel_runtime() { return openmp().path; }

} // namespace tilewright

extern "C" {

std::int32_t tilewright_parallel_for(std::int64_t begin, std::int64_t end, void *closure,
                                     tilewright::ParallelBody body, std::int64_t dealing,
                                     std::int64_t work) {
  using namespace tilewright;
  if (begin >= end) {
    return KernelOk;
  }
  if (inside_region || work < least_work()) {
    return body(begin, end, closure);
  }
  CallRecord *const record = static_cast<const ClosureHead *>(closure)->record;
  const std::uint64_t length = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  // No thread is worth less than a chunk. The counters cannot overflow: there are at most max_parts
  // chunks more than the loop has.
  constexpr std::uint64_t largest_chunk = std::uint64_t{1} << 40;
  const bool dynamic = dealing < 0 && length <= std::uint64_t{1} << 62;
  std::uint64_t chunk = std::min(dealing < 0 ? -static_cast<std::uint64_t>(dealing)
                                             : static_cast<std::uint64_t>(dealing),
                                 largest_chunk);
  if (length > std::uint64_t{1} << 62) {
    chunk = 0;
  }
  const std::uint64_t chunks = chunk == 0 ? length : (length - 1) / chunk + 1;
  const int threads = record->threads > 0 ? record->threads : num_threads();
  const int parts = static_cast<int>(
      std::min<std::uint64_t>(chunks, static_cast<std::uint64_t>(std::min(threads, max_parts))));
  if (parts <= 1) {
    return body(begin, end, closure);
  }
  const OpenMP &library = openmp();
  const bool usable = library.parallel != nullptr && (library.survives_fork || !forked.load());
  if (usable && library.in_parallel() != 0) {
    return body(begin, end, closure);
  }
  const std::uint64_t pieces =
      dynamic || usable ? 1 : std::min(usual_pieces, chunks / static_cast<std::uint64_t>(parts));
  Loop loop{&library, begin, length, chunk, dynamic, parts, static_cast<int>(pieces),
            closure,  body,  record};
  if (usable) {
    library.parallel(openmp_part, &loop, static_cast<unsigned>(parts), 0);
  } else {
    run_on_pool(parts, loop.pieces, pool_piece, pool_waits, &loop);
  }
  return loop.status.load();
}

std::int32_t tilewright_poll(tilewright::CallRecord *record) {
  using namespace tilewright;
  if (record->stop.load(std::memory_order_relaxed) != 0) {
    return KernelInterrupted;
  }
  if (record->ask == nullptr || record->caller != pthread_self() || !record->ask(*record)) {
    return KernelOk;
  }
  record->stop.store(1, std::memory_order_relaxed);
  return KernelInterrupted;
}

void tilewright_report_index(tilewright::KernelFailure *failure, std::int64_t site,
                             std::int64_t value, std::int64_t extent) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  failure->site = site;
  failure->value = value;
  failure->extent = extent;
}
}
