#include "bindings/interruptible_compile.h"

#include "bindings/signals.h"
#include "runtime/detached_thread.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
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
      made = finish(std::move(prepared));
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

bool start(const Shared &compilation) {
  auto handed_over = std::make_unique<Shared>(compilation);
  const bool started = start_detached_thread(thread_main, handed_over.get(), compiler_stack_bytes);
  if (started) {
    static_cast<void>(handed_over.release());
  }
  return started;
}

} // namespace

std::shared_ptr<CompiledKernel> finish_interruptibly(PreparedKernel prepared) {
  const bool is_short = !prepared.loops && !prepared.waits;
  if (is_short || !is_main_thread()) {
    return finish(std::move(prepared));
  }
  const auto compilation = std::make_shared<Compilation>();
  compilation->prepared = std::move(prepared);
  if (!start(compilation)) {
    return finish(std::move(compilation->prepared)); // no more threads to be had
  }
  constexpr std::chrono::milliseconds between_looks{50};
  const pid_t process = getpid();
  std::unique_lock lock(compilation->mutex);
  while (!compilation->ended.wait_for(lock, between_looks, [&] { return compilation->is_done; })) {
    lock.unlock();
    handle_signals();
    if (getpid() != process) {
      return nullptr; // a handler has forked: the thread is not here, so it begins anew
    }
    lock.lock();
  }
  if (compilation->error) {
    std::rethrow_exception(compilation->error);
  }
  return std::move(compilation->kernel);
}

} // namespace tilewright
