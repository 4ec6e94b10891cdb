// State of the process behind one lock that a child of fork never inherits held by a thread which
// it does not have.
#pragma once

#include <pthread.h>

namespace tilewright {

/// The only object of a type with a `mutex`, which is taken around fork. Never destroyed: kernels
/// may run while the process ends.
template <class State>
State &fork_safe() {
  static State *const only = [] {
    static State *made = new State();
    pthread_atfork([] { made->mutex.lock(); }, [] { made->mutex.unlock(); },
                   [] { made->mutex.unlock(); });
    return made;
  }();
  return *only;
}

} // namespace tilewright
