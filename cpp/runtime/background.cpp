#include "runtime/background.h"

#include "runtime/quiet_thread.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <shared_mutex>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tilewright {

namespace {

constexpr int lower_priority = 5; // of nice

/// Never destroyed. In a child of fork it is made anew in its place, as its thread is not there.
class Queue {
public:
  static Queue &get() {
    static Queue *queue = [] {
      auto *made = new Queue();
      pthread_atfork([] { Queue::get().mutex_->lock(); }, [] { Queue::get().mutex_->unlock(); },
                     [] { Queue::get().start_again(); });
      return made;
    }();
    return *queue;
  }

  bool add(BackgroundJob job) {
    {
      const std::lock_guard lock(*mutex_);
      if (!running_ && !start()) {
        return false;
      }
      running_ = true;
      waiting_.push_back(std::move(job));
    }
    arrived_->notify_one();
    return true;
  }

private:
  Queue() { renew(); }

  /// New ones in place of those that a thread which is not there may hold or wait for; the old ones
  /// cannot be destroyed.
  void renew() {
    mutex_ = new std::mutex();
    arrived_ = new std::condition_variable();
    running_ = false;
  }

  void start_again() {
    std::deque<BackgroundJob> lost = std::move(waiting_);
    waiting_.clear();
    if (current_) {
      lost.push_back(*current_);
      current_.reset();
    }
    renew();
    for (const BackgroundJob &job : lost) {
      job.abandoned();
    }
  }

  bool start() { return start_detached_thread(thread_main, nullptr, compiler_stack_bytes); }

  static void *thread_main(void *) {
    setpriority(PRIO_PROCESS, static_cast<id_t>(syscall(SYS_gettid)), lower_priority);
    Queue::get().work();
    return nullptr;
  }

  void work() {
    while (true) {
      std::unique_lock lock(*mutex_);
      current_.reset();
      arrived_->wait(lock, [this] { return !waiting_.empty(); });
      current_ = std::move(waiting_.front());
      waiting_.pop_front();
      const std::function<void()> job = current_->work;
      lock.unlock();
      job();
    }
  }

  std::mutex *mutex_ = nullptr;
  std::condition_variable *arrived_ = nullptr;
  std::deque<BackgroundJob> waiting_;
  std::optional<BackgroundJob> current_;
  bool running_ = false;
};

/// Threads in LLVM share it, a thread that forks takes it alone. A child has a new one: for the old
/// one threads may be waiting that are not there.
std::shared_mutex &llvm_mutex() {
  static std::atomic<std::shared_mutex *> current{nullptr};
  static const int registered = [] {
    current = new std::shared_mutex(); // before anybody may fork with these handlers
    return pthread_atfork([] { current.load()->lock(); }, [] { current.load()->unlock(); },
                          [] { current = new std::shared_mutex(); });
  }();
  static_cast<void>(registered);
  return *current.load();
}

} // namespace

/// In place of the C++ runtime's, for everything that is linked into this library (--wrap): nothing
/// is destroyed at the end of a process. The background thread is in the middle of LLVM then, whose
/// options and tables would go away under it; waiting for it would keep the process from ending.
extern "C" int __wrap___cxa_atexit(void (*)(void *), void *, void *);              // NOLINT
extern "C" int __wrap___cxa_atexit(void (*)(void *), void *, void *) { return 0; } // NOLINT

bool run_in_background(BackgroundJob job) { return Queue::get().add(std::move(job)); }

ForkGuard::ForkGuard() { llvm_mutex().lock_shared(); }
ForkGuard::~ForkGuard() { llvm_mutex().unlock_shared(); }

void ForkGuard::pause() {
  llvm_mutex().unlock_shared();
  llvm_mutex().lock_shared();
}

} // namespace tilewright
