// isl's own lock. isl counts the references to its objects without atomics, so even a copy of a set
// is made and freed only by the thread that has the lock. Declarations, commands and the analysing
// half of a compilation have it; expressions are walked, machine code is made and kernels run
// without it. Recursive. It is the first lock that a thread takes: whoever waits for it gives up
// Python's lock meanwhile (set_isl_waiting), and its owner may take Python's.
#pragma once

#include <atomic>
#include <memory>
#include <type_traits>
#include <utility>

namespace tilewright {

class IslLock {
public:
  /// Waits for the lock as set_isl_waiting() says, and throws what that throws.
  IslLock();
  ~IslLock();
  IslLock(const IslLock &) = delete;
  IslLock &operator=(const IslLock &) = delete;

  static bool is_held();          ///< by this thread
  static bool is_held_by_other(); ///< by another thread
};

/// How a thread waits that finds the lock taken: `try_again` waits for a moment and says whether
/// the thread has the lock then. Without this, it tries again until it has it.
using IslWaiting = void (*)(bool (*try_again)());
void set_isl_waiting(IslWaiting waiting);

/// Around fork, in the thread that forks: a child has no other thread that could give up the lock.
/// Waits without asking anybody.
void lock_isl_for_fork();
void unlock_isl_after_fork();

/// Calls `free(object)` with the lock: now, or where another thread has it, when that thread gives
/// it up. Destructors must not wait.
void free_with_isl_lock(void *object, void (*free)(void *)) noexcept;

template <class T>
struct IslDeleter {
  void operator()(T *object) const noexcept {
    free_with_isl_lock(const_cast<std::remove_const_t<T> *>(object),
                       [](void *given) { delete static_cast<T *>(given); });
  }
};

/// std::make_shared for what has isl objects inside.
template <class T, class... Arguments>
std::shared_ptr<T> make_isl_shared(Arguments &&...arguments) {
  return std::shared_ptr<T>(new T(std::forward<Arguments>(arguments)...), IslDeleter<T>());
}

/// From now on, a thread that touches isl without the lock ends the process: for tests. isl must be
/// the one that the linker wraps (polyhedral/isl_work.h), else nothing is noticed.
void require_isl_lock(bool required) noexcept;
/// Ends the process unless this thread has the lock.
void check_isl_lock() noexcept;
extern std::atomic<bool> isl_lock_is_required;
/// Called where isl is touched, which is all the time.
inline void note_isl_use() noexcept {
  if (isl_lock_is_required.load(std::memory_order_relaxed)) {
    check_isl_lock();
  }
}

} // namespace tilewright
