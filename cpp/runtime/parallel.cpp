#include "runtime/parallel.h"

#include "polyhedral/error.h"
#include "runtime/abi.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <system_error>
#include <thread>
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

const OpenMP &openmp() {
  if (!runtime_known.load(std::memory_order_acquire)) {
    const std::lock_guard lock(runtime_mutex);
    if (runtime == nullptr) {
      runtime = find_runtime();
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

int environment_threads() {
  // Asked anew at each loop would cost a search of the environment; the answer is that of the first
  // loop.
  static const int count = [] {
    if (const char *text = std::getenv("OMP_NUM_THREADS")) {
      const long value = std::strtol(text, nullptr, 10);
      if (value > 0 && value < 1 << 16) {
        return static_cast<int>(value);
      }
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
      return std::max(1, CPU_COUNT(&set));
    }
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  }();
  return count;
}

/// One parallel loop in flight.
struct Region {
  const OpenMP *openmp;
  std::int64_t begin;
  std::int64_t end;
  void *closure;
  ParallelBody body;
  std::atomic<std::int32_t> status{KernelOk};

  void run_part(int part, int parts) {
    // Differences as unsigned: a range may span more than half of int64.
    const std::uint64_t length =
        static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
    const std::uint64_t share = length / static_cast<std::uint64_t>(parts);
    const std::uint64_t rest = length % static_cast<std::uint64_t>(parts);
    const auto index = static_cast<std::uint64_t>(part);
    const std::uint64_t first = index * share + std::min(index, rest);
    const std::uint64_t last = first + share + (index < rest ? 1 : 0);
    if (first == last) {
      return;
    }
    const std::int32_t result =
        body(static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + first),
             static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + last), closure);
    if (result != KernelOk) {
      std::int32_t expected = KernelOk;
      status.compare_exchange_strong(expected, result);
    }
  }
};

void openmp_part(void *argument) {
  auto &region = *static_cast<Region *>(argument);
  inside_region = true;
  region.run_part(region.openmp->thread_number(), region.openmp->team_size());
  inside_region = false;
}

void run_on_threads(Region &region, int count) {
  auto work = [&region, count](int part) {
    inside_region = true;
    region.run_part(part, count);
    inside_region = false;
  };
  std::vector<std::thread> threads;
  int started = 1;
  try {
    threads.reserve(static_cast<size_t>(count));
    for (; started < count; ++started) {
      threads.emplace_back(work, started);
    }
  } catch (const std::exception &) {
    // No more threads to be had: this one does what is left.
  }
  work(0);
  for (int part = started; part < count; ++part) {
    work(part);
  }
  for (std::thread &thread : threads) {
    thread.join();
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
                                     tilewright::ParallelBody body) {
  using namespace tilewright;
  if (begin >= end) {
    return KernelOk;
  }
  if (inside_region) {
    return body(begin, end, closure);
  }
  const std::uint64_t length = static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin);
  const int count =
      static_cast<int>(std::min<std::uint64_t>(length, static_cast<std::uint64_t>(num_threads())));
  if (count <= 1) {
    return body(begin, end, closure);
  }
  const OpenMP &library = openmp();
  const bool usable = library.parallel != nullptr && (library.survives_fork || !forked.load());
  if (usable && library.in_parallel() != 0) {
    return body(begin, end, closure);
  }
  Region region{&library, begin, end, closure, body};
  if (usable) {
    library.parallel(openmp_part, &region, static_cast<unsigned>(count), 0);
  } else {
    run_on_threads(region, count);
  }
  return region.status.load();
}

void tilewright_report_index(tilewright::KernelFailure *failure, std::int64_t site,
                             std::int64_t value, std::int64_t extent) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  *failure = {site, value, extent};
}

void *tilewright_allocate(std::int64_t bytes) {
  constexpr std::int64_t alignment = 64;
  if (bytes < 0 || bytes > INT64_MAX - alignment) {
    return nullptr;
  }
  const std::int64_t whole = std::max(alignment, (bytes + alignment - 1) / alignment * alignment);
  return std::aligned_alloc(alignment, static_cast<size_t>(whole));
}

void tilewright_free(void *memory) { std::free(memory); }
}
