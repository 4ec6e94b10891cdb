#include "runtime/detached_thread.h"

#include <csignal>
#include <pthread.h>

namespace tilewright {

bool start_detached_thread(void *(*main)(void *), void *argument, std::size_t stack_bytes) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  if (stack_bytes != 0) {
    pthread_attr_setstacksize(&attributes, stack_bytes);
  }
  pthread_t thread{};
  const bool started = pthread_create(&thread, &attributes, main, argument) == 0;
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

} // namespace tilewright
