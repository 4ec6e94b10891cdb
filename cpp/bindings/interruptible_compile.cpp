#include "bindings/interruptible_compile.h"

#include "bindings/signals.h"
#include "runtime/quiet_thread.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <unistd.h>
#include <utility>

namespace tilewright {

namespace {

struct Compilation {
  PreparedKernel prepared;
  std::mutex mutex;
  std::condition_variable ended;
  bool is_done = false; ///< guarded by the mutex, as what follows
  std::shared_ptr<CompiledKernel> kernel;
  std::exception_ptr error;

  void run() {
    std::shared_ptr<CompiledKernel> made;
    std::exception_ptr problem;
    try {
      made = complete(std::move(prepared));
    } catch (...) {
      problem = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    kernel = std::move(made);
    error = std::move(problem);
    is_done = true;
    ended.notify_all();
  }
};

using Shared = std::shared_ptr<Compilation>;

void *thread_main(void *argument) {
  const std::unique_ptr<Shared> compilation(static_cast<Shared *>(argument));
  (*compilation)->run();
  return nullptr;
}

std::optional<pthread_t> start(const Shared &compilation) {
  auto handed_over = std::make_unique<Shared>(compilation);
  const auto thread = start_quiet_thread(thread_main, handed_over.get(), compiler_stack_bytes);
  if (thread) {
    static_cast<void>(handed_over.release());
  }
  return thread;
}

/// False in a process that a handler has forked: the thread is not there, so it begins anew.
bool wait_for_end(Compilation &compilation) {
  constexpr std::chrono::milliseconds between_looks{50};
  const pid_t process = getpid();
  std::unique_lock lock(compilation.mutex);
  while (!compilation.ended.wait_for(lock, between_looks, [&] { return compilation.is_done; })) {
    lock.unlock();
    handle_signals();
    if (getpid() != process) {
      return false;
    }
    lock.lock();
  }
  return true;
}

} // namespace

std::shared_ptr<CompiledKernel> complete_interruptibly(PreparedKernel prepared) {
  const bool is_short = !prepared.loops && !prepared.waits;
  if (is_short || !is_main_thread()) {
    return complete(std::move(prepared));
  }
  const auto compilation = std::make_shared<Compilation>();
  compilation->prepared = std::move(prepared);
  const std::optional<pthread_t> thread = start(compilation);
  if (!thread) {
    return complete(std::move(compilation->prepared)); // no more threads to be had
  }
  const pid_t process = getpid();
  try {
    if (!wait_for_end(*compilation)) {
      return nullptr;
    }
  } catch (...) {
    if (getpid() == process) {
      pthread_detach(*thread);
    }
    throw;
  }
  // Joined, so that the next one finds its memory free: malloc has an area for each thread that is
  // there, and areas taken in turn grow apart.
  pthread_join(*thread, nullptr);
  if (compilation->error) {
    std::rethrow_exception(compilation->error);
  }
  return std::move(compilation->kernel);
}

} // namespace tilewright
