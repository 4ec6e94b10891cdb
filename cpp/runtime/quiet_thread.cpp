#include "runtime/quiet_thread.h"

#include <csignal>

namespace tilewright {

std::optional<pthread_t> start_quiet_thread(void *(*main)(void *), void *argument,
                                            std::size_t stack_bytes) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (stack_bytes != 0) {
    pthread_attr_setstacksize(&attributes, stack_bytes);
  }
  pthread_t thread{};
  const bool started = pthread_create(&thread, &attributes, main, argument) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started ? std::optional(thread) : std::nullopt;
}

bool start_detached_thread(void *(*main)(void *), void *argument, std::size_t stack_bytes) {
  const auto thread = start_quiet_thread(main, argument, stack_bytes);
  if (thread) {
    pthread_detach(*thread);
  }
  return thread.has_value();
}

} // namespace tilewright
