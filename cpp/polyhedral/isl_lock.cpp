#include "polyhedral/isl_lock.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

namespace tilewright {

namespace {

/// An object that waits for the lock to be freed.
struct Garbage {
  void *object;
  void (*free)(void *);
  Garbage *next;
};

/// Never destroyed: threads may use isl while the process ends. No lock guards the list, as a child
/// of fork would inherit that.
struct State {
  std::timed_mutex mutex;
  std::atomic<std::thread::id> owner;
  int depth = 0; ///< of the owner
  std::atomic<Garbage *> garbage{nullptr};
  std::atomic<IslWaiting> waiting{nullptr};
};
State &state = *new State();

void take() {
  state.owner.store(std::this_thread::get_id(), std::memory_order_relaxed);
  state.depth = 1;
}

bool try_again() {
  constexpr std::chrono::milliseconds moment{20};
  // By the system's clock: ThreadSanitizer does not see a lock that is waited for by the steady
  // one.
  if (!state.mutex.try_lock_until(std::chrono::system_clock::now() + moment)) {
    return false;
  }
  take();
  return true;
}

void free_garbage() {
  while (Garbage *list = state.garbage.exchange(nullptr, std::memory_order_acquire)) {
    while (list != nullptr) {
      Garbage *const first = list;
      list = first->next;
      first->free(first->object); // may leave more
      delete first;
    }
  }
}

bool try_lock() {
  if (IslLock::is_held()) {
    ++state.depth;
    return true;
  }
  if (!state.mutex.try_lock()) {
    return false;
  }
  take();
  return true;
}

void unlock() {
  if (state.depth > 1) {
    --state.depth;
    return;
  }
  do {
    free_garbage();
    state.depth = 0;
    state.owner.store({}, std::memory_order_relaxed);
    state.mutex.unlock();
    // What others left after the last look, if nobody else will find it.
  } while (state.garbage.load(std::memory_order_acquire) != nullptr && try_lock());
}

} // namespace

bool IslLock::is_held() {
  return state.owner.load(std::memory_order_relaxed) == std::this_thread::get_id();
}

bool IslLock::is_held_by_other() {
  const std::thread::id owner = state.owner.load(std::memory_order_relaxed);
  return owner != std::thread::id() && owner != std::this_thread::get_id();
}

IslLock::IslLock() {
  if (try_lock()) {
    return;
  }
  if (const IslWaiting waiting = state.waiting.load()) {
    waiting(try_again);
    return;
  }
  while (!try_again()) {
  }
}

IslLock::~IslLock() { unlock(); }

void set_isl_waiting(IslWaiting waiting) { state.waiting.store(waiting); }

void lock_isl_for_fork() {
  if (!try_lock()) {
    while (!try_again()) {
    }
  }
}

void unlock_isl_after_fork() { unlock(); }

void free_with_isl_lock(void *object, void (*free)(void *)) noexcept {
  if (!try_lock()) {
    auto *const garbage =
        new (std::nothrow) Garbage{object, free, state.garbage.load(std::memory_order_relaxed)};
    if (garbage == nullptr) {
      return; // without memory to note it, it stays
    }
    while (!state.garbage.compare_exchange_weak(garbage->next, garbage, std::memory_order_release,
                                                std::memory_order_relaxed)) {
    }
    if (try_lock()) { // given up just now
      unlock();
    }
    return;
  }
  free(object);
  unlock();
}

std::atomic<bool> isl_lock_is_required{false};

void require_isl_lock(bool required) noexcept { isl_lock_is_required.store(required); }

void check_isl_lock() noexcept {
  if (!IslLock::is_held()) {
    std::fputs("tilewright: isl is used by a thread that has not its lock "
               "(polyhedral/isl_lock.h)\n",
               stderr);
    std::abort();
  }
}

} // namespace tilewright
