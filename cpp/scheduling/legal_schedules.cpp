#include "scheduling/legal_schedules.h"

#include "compiler/canonical_text.h"
#include "runtime/cache.h"
#include "runtime/fork_safe.h"

#include <fmt/format.h>

#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <variant>
#include <vector>

namespace tilewright {

namespace {

constexpr size_t digest_size = 64;      // hexadecimal digits
constexpr size_t max_functions = 1024;  // remembered in the process
constexpr size_t max_schedules = 16384; // of one function, anywhere

struct State {
  std::mutex mutex;
  std::unordered_map<std::string, std::set<std::string>> legal; ///< by function
};

State &state() { return fork_safe<State>(); }

std::string quoted(const std::string &text) { return fmt::format("{}:{}", text.size(), text); }

std::string argument_text(const Argument &argument) {
  return std::visit(
      [](const auto &value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::int64_t>) {
          return fmt::format("i{}", value);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return "s" + quoted(value);
        } else {
          std::string text = fmt::format("l{}", value.size());
          for (const auto &element : value) {
            text += argument_text(Argument(element));
          }
          return text;
        }
      },
      argument);
}

std::string command_text(const Command &command) {
  std::string text = quoted(command.computation) + quoted(command.name);
  for (const Argument &argument : command.arguments) {
    text += argument_text(argument);
  }
  for (const Command &each : command.commands) {
    text += "c" + quoted(command_text(each));
  }
  return text;
}

std::set<std::string> digests_of(const std::string &text) {
  std::set<std::string> digests;
  for (size_t at = 0; at + digest_size <= text.size(); at += digest_size) {
    digests.insert(text.substr(at, digest_size));
  }
  return digests;
}

} // namespace

LegalSchedules::LegalSchedules(const Function &function)
    : none_(cache_key("legal schedules of\n" + canonical_text(function))) {
  {
    const std::lock_guard lock(state().mutex);
    if (state().legal.contains(none_)) {
      return;
    }
  }
  std::set<std::string> known;
  if (const auto text = cache_load_note(none_)) {
    known = digests_of(*text);
  }
  const std::lock_guard lock(state().mutex);
  if (state().legal.size() >= max_functions) {
    state().legal.clear();
  }
  state().legal.emplace(none_, std::move(known));
}

std::string LegalSchedules::after(const std::string &schedule, const Command &command) {
  return cache_key(schedule + command_text(command));
}

bool LegalSchedules::contains(const std::string &schedule) const {
  const std::lock_guard lock(state().mutex);
  const auto known = state().legal.find(none_);
  return known != state().legal.end() && known->second.contains(schedule);
}

void LegalSchedules::add(const std::string &schedule) {
  const std::lock_guard lock(state().mutex);
  std::set<std::string> &known = state().legal[none_];
  if (known.size() >= max_schedules) {
    known.clear();
  }
  if (known.insert(schedule).second && added_.size() < max_schedules) {
    added_.insert(schedule);
  }
}

void LegalSchedules::store() {
  if (added_.empty()) {
    return;
  }
  // Another process may have written meanwhile. One that writes right now may lose its verdicts, or
  // we ours: then they are asked for again.
  if (const auto text = cache_load_note(none_)) {
    std::set<std::string> others = digests_of(*text);
    if (others.size() + added_.size() <= max_schedules) {
      added_.merge(others);
    }
  }
  std::string text;
  for (const std::string &digest : added_) {
    text += digest;
  }
  cache_store_note(none_, text);
  added_.clear();
}

void LegalSchedules::forget_all() {
  const std::lock_guard lock(state().mutex);
  state().legal.clear();
}

} // namespace tilewright
