#include "runtime/environment.h"

#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <utility>

namespace tilewright {

namespace {

using Values = std::map<std::string, std::string>;

constexpr std::array<const char *, 7> variables = {
    "HOME",           "TILEWRIGHT_CACHE_DIR",   "TILEWRIGHT_DUMP_PASSES",
    "TILEWRIGHT_GDB", "TILEWRIGHT_KEEP_MEMORY", "TILEWRIGHT_PERF",
    "XDG_CACHE_HOME"};

/// No mutex: a child of fork would have to hold it beside the locks of whoever asks. What was taken
/// before stays, since somebody may still read it; a new one is made only where a value changed.
std::atomic<const Values *> taken = nullptr;

} // namespace

void take_environment() {
  Values now;
  for (const char *name : variables) {
    if (const char *text = std::getenv(name)) {
      now[name] = text;
    }
  }
  const Values *before = taken.load(std::memory_order_acquire);
  if (before == nullptr || *before != now) {
    taken.store(new Values(std::move(now)), std::memory_order_release);
  }
}

std::optional<std::string> environment(const std::string &name) {
  if (const Values *values = taken.load(std::memory_order_acquire)) {
    const auto found = values->find(name);
    return found == values->end() ? std::nullopt : std::optional(found->second);
  }
  const char *text = std::getenv(name.c_str());
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

} // namespace tilewright
