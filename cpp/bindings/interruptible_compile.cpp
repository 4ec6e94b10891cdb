#include "bindings/interruptible_compile.h"

#include "bindings/signals.h"

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <exception>
#include <mutex>
#include <pthread.h>
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

/// Signals stay with the threads of the program.
bool start(const Shared &compilation) {
  constexpr std::size_t stack_bytes = std::size_t{16} << 20;
  auto handed_over = std::make_unique<Shared>(compilation);
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, stack_bytes);
  pthread_t thread{};
  const bool started = pthread_create(&thread, &attributes, thread_main, handed_over.get()) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
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
