#include "compiler/in_flight.h"

#include <condition_variable>
#include <mutex>
#include <pthread.h>
#include <unordered_map>
#include <utility>

namespace tilewright {

struct CompilationTicket::State {
  bool ended = false;
  std::exception_ptr error;
};

/// Never destroyed; made anew in a child of fork, whose other threads are gone with what they held.
struct InFlight {
  std::mutex mutex;
  std::condition_variable ended;
  std::unordered_map<std::string, std::shared_ptr<CompilationTicket::State>> kernels;

  static InFlight &get() {
    static InFlight *current = [] {
      pthread_atfork(nullptr, nullptr, [] { current = new InFlight(); });
      return new InFlight();
    }();
    return *current;
  }
};

CompilationTicket::CompilationTicket(std::string key, std::shared_ptr<State> state)
    : key_(std::move(key)), state_(std::move(state)) {}

std::unique_ptr<CompilationTicket> CompilationTicket::take(const std::string &key) {
  InFlight &all = InFlight::get();
  const std::lock_guard lock(all.mutex);
  const auto [place, is_free] = all.kernels.try_emplace(key);
  if (!is_free) {
    return nullptr;
  }
  place->second = std::make_shared<State>();
  return std::unique_ptr<CompilationTicket>(new CompilationTicket(key, place->second));
}

CompilationTicket::~CompilationTicket() {
  InFlight &all = InFlight::get();
  const std::lock_guard lock(all.mutex);
  state_->ended = true;
  const auto found = all.kernels.find(key_);
  if (found != all.kernels.end() && found->second == state_) {
    all.kernels.erase(found);
  }
  all.ended.notify_all();
}

void CompilationTicket::fail(std::exception_ptr error) {
  const std::lock_guard lock(InFlight::get().mutex);
  state_->error = std::move(error);
}

void await_compilation(const std::string &key) {
  InFlight &all = InFlight::get();
  std::unique_lock lock(all.mutex);
  const auto found = all.kernels.find(key);
  if (found == all.kernels.end()) {
    return;
  }
  const std::shared_ptr<CompilationTicket::State> state = found->second;
  all.ended.wait(lock, [&] { return state->ended; });
  if (state->error) {
    std::rethrow_exception(state->error);
  }
}

} // namespace tilewright
