#include "runtime/environment.h"

#include "runtime/fork_safe.h"

#include <array>
#include <cstdlib>
#include <map>
#include <mutex>

namespace tilewright {

namespace {

constexpr std::array<const char *, 7> variables = {
    "HOME",           "TILEWRIGHT_CACHE_DIR",   "TILEWRIGHT_DUMP_PASSES",
    "TILEWRIGHT_GDB", "TILEWRIGHT_KEEP_MEMORY", "TILEWRIGHT_PERF",
    "XDG_CACHE_HOME"};

struct State {
  std::mutex mutex;
  bool is_taken = false;
  std::map<std::string, std::string> values;
};

} // namespace

void take_environment() {
  State &state = fork_safe<State>();
  const std::lock_guard lock(state.mutex);
  state.is_taken = true;
  for (const char *name : variables) {
    const char *text = std::getenv(name);
    if (text == nullptr) {
      state.values.erase(name);
    } else {
      state.values[name] = text;
    }
  }
}

std::optional<std::string> environment(const std::string &name) {
  State &state = fork_safe<State>();
  const std::lock_guard lock(state.mutex);
  if (state.is_taken) {
    const auto found = state.values.find(name);
    return found == state.values.end() ? std::nullopt : std::optional(found->second);
  }
  const char *text = std::getenv(name.c_str());
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

} // namespace tilewright
