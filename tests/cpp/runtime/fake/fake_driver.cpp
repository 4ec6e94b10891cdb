#include "fake_driver.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace fake_driver {

State &state() {
  static State *only = [] {
    auto *made = new State();
    if (const char *settings = std::getenv("TILEWRIGHT_TEST_FAKE_CUDA")) {
      configure(*made, settings);
    }
    return made;
  }();
  return *only;
}

ContextHandle foreign{-1};
thread_local std::vector<Context> stack;
thread_local std::string text_for_caller;

namespace {

void add_failure(State &state, const std::string &key, const std::string &value) {
  std::istringstream parts(value);
  std::string name;
  std::string nth;
  std::string result;
  std::getline(parts, name, ':');
  if (key == "fail") {
    std::getline(parts, nth, ':');
  }
  std::getline(parts, result, ':');
  if (key == "fault") {
    state.faults[name] = std::atoi(result.c_str());
    return;
  }
  const int count = nth == "*" ? 0 : state.calls[name] + std::atoi(nth.c_str());
  state.failures.push_back({name, count, std::atoi(result.c_str())});
}

} // namespace

void configure(State &state, const char *settings) {
  std::istringstream all(settings == nullptr ? "" : settings);
  std::string part;
  while (std::getline(all, part, ';')) {
    const auto equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    const long long number = std::atoll(value.c_str());
    if (key == "devices") {
      state.devices = static_cast<int>(number);
    } else if (key == "version") {
      state.version = static_cast<int>(number);
    } else if (key == "capability") {
      state.capability = static_cast<int>(number);
    } else if (key == "memory") {
      state.memory = static_cast<std::size_t>(number);
    } else if (key == "pools") {
      state.has_pools = number != 0;
    } else if (key == "ptx") {
      state.newest_ptx = static_cast<int>(number);
    } else if (key == "pitch") {
      state.max_pitch = static_cast<int>(number);
    } else if (key == "quiet") {
      state.is_quiet = number != 0;
    } else if (key == "run") {
      state.runs_kernels = number != 0;
    } else if (key == "busy") {
      state.done_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(number);
    } else if (key == "init") {
      state.init = static_cast<Result>(number);
    } else if (key == "fail" || key == "fault") {
      add_failure(state, key, value);
    }
  }
}

int number_of(Stream stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  return value <= 2 ? static_cast<int>(value) : stream->number;
}

int clock_of(Stream stream) {
  static std::atomic<int> next{-1};
  thread_local const int own = next--;
  const int number = number_of(stream);
  return number == 2 ? own : number == 1 ? StreamClocks::legacy : number;
}

void advance(Stream stream) {
  if (!state().is_quiet) {
    state().clocks.advance(clock_of(stream));
  }
}

void use(Stream stream, Address at, const char *work) {
  if (state().is_quiet) {
    return;
  }
  auto after = state().blocks.upper_bound(at);
  if (after == state().blocks.begin()) {
    return;
  }
  const auto &[start, block] = *--after;
  if (at < start + block.bytes) {
    state().clocks.use(clock_of(stream), start, work);
  }
}

bool is_final(Result result) {
  return result == EccUncorrectable || (result >= IllegalAddress && result != OutOfResources);
}

Result enter(const char *function, bool needs_context, bool touches) {
  State &all = state();
  const int count = ++all.calls[function];
  if (all.started == 0 || all.started != getpid()) {
    return NotInitialized;
  }
  if (needs_context && stack.empty()) {
    return InvalidContext;
  }
  for (const Failure &failure : all.failures) {
    if (failure.function == function && (failure.nth == 0 || failure.nth == count)) {
      if (is_final(failure.result) && !stack.empty()) {
        all.lost[stack.back()->device] = failure.result;
      }
      return failure.result;
    }
  }
  if (touches && !stack.empty()) {
    const auto lost = all.lost.find(stack.back()->device);
    if (lost != all.lost.end()) {
      return lost->second;
    }
  }
  return Success;
}

bool is_busy() { return std::chrono::steady_clock::now() < state().done_at; }

void wait_for_all() {
  std::chrono::steady_clock::time_point until;
  {
    const std::lock_guard lock(state().mutex);
    until = state().done_at;
  }
  std::this_thread::sleep_until(until);
}

bool is_stream(Stream stream) {
  return reinterpret_cast<std::uintptr_t>(stream) <= 2 || state().streams.count(stream) != 0;
}

bool is_memory(Address at, std::size_t bytes) {
  auto after = state().blocks.upper_bound(at);
  if (after == state().blocks.begin()) {
    return false;
  }
  const auto &[start, block] = *--after;
  return at + bytes <= start + block.bytes && block.device == stack.back()->device;
}

std::optional<std::size_t> ordinal_of(DeviceHandle device) {
  const std::int32_t ordinal = static_cast<std::int32_t>(device) - first_device_handle;
  return ordinal < 0 || ordinal >= state().devices
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(ordinal));
}

std::size_t in_use(int device) {
  std::size_t total = 0;
  for (const auto &[address, block] : state().blocks) {
    total += block.device == device ? block.bytes : 0;
  }
  return total;
}

Result allocate(Address *memory, std::size_t bytes) {
  State &all = state();
  if (bytes == 0) {
    return InvalidValue;
  }
  const int device = stack.back()->device;
  if (in_use(device) + bytes > all.memory) {
    return OutOfMemory;
  }
  const std::size_t rounded = (bytes + 511) / 512 * 512;
  void *host = std::aligned_alloc(512, rounded);
  std::memset(host, 0xab, rounded); // what is not written is not zero
  *memory = reinterpret_cast<Address>(host);
  all.blocks[*memory] = {bytes, device};
  return Success;
}

Result release(Address memory) {
  const auto found = state().blocks.find(memory);
  if (found == state().blocks.end() || found->second.device != stack.back()->device) {
    return InvalidValue;
  }
  std::free(reinterpret_cast<void *>(memory));
  state().clocks.forget(memory);
  state().blocks.erase(found);
  return Success;
}

void *host(Address memory) { return reinterpret_cast<void *>(memory); }

} // namespace fake_driver

using namespace fake_driver;

// ---- steering ----

EXPORT void fake_cuda_configure(const char *settings) {
  State &all = state();
  const std::lock_guard lock(all.mutex);
  for (const auto &[address, block] : all.blocks) {
    std::free(host(address));
  }
  State fresh;
  all.devices = fresh.devices;
  all.version = fresh.version;
  all.capability = fresh.capability;
  all.memory = fresh.memory;
  all.has_pools = fresh.has_pools;
  all.newest_ptx = fresh.newest_ptx;
  all.max_pitch = fresh.max_pitch;
  all.init = fresh.init;
  all.is_quiet = fresh.is_quiet;
  all.runs_kernels = fresh.runs_kernels;
  all.started = 0;
  all.contexts.clear();
  all.retained.clear();
  all.failures.clear();
  all.faults.clear();
  all.lost.clear();
  all.blocks.clear();
  all.streams.clear();
  all.events.clear();
  all.modules.clear();
  all.pools.clear();
  all.calls.clear();
  all.log.clear();
  all.clocks = {};
  all.next_number = fresh.next_number;
  all.executor = nullptr;
  stack.clear();
  configure(all, settings);
}

EXPORT void fake_cuda_add(const char *settings) {
  const std::lock_guard lock(state().mutex);
  configure(state(), settings);
}

EXPORT const char *fake_cuda_log() {
  const std::lock_guard lock(state().mutex);
  text_for_caller.clear();
  for (const std::string &line : state().log) {
    text_for_caller += line + "\n";
  }
  return text_for_caller.c_str();
}

EXPORT void fake_cuda_clear_log() {
  const std::lock_guard lock(state().mutex);
  state().log.clear();
}

EXPORT int fake_cuda_calls(const char *function) {
  const std::lock_guard lock(state().mutex);
  return state().calls[function];
}

EXPORT int fake_cuda_context_depth() { return static_cast<int>(stack.size()); }
EXPORT void fake_cuda_push_foreign() { stack.push_back(&foreign); }
EXPORT int fake_cuda_pop_foreign() {
  if (stack.empty() || stack.back() != &foreign) {
    return 0;
  }
  stack.pop_back();
  return 1;
}

EXPORT size_t fake_cuda_bytes_in_use(int device) {
  const std::lock_guard lock(state().mutex);
  return in_use(device);
}

EXPORT int fake_cuda_retained(int device) {
  const std::lock_guard lock(state().mutex);
  const auto ordinal = static_cast<std::size_t>(device);
  return ordinal < state().retained.size() ? state().retained[ordinal] : 0;
}

EXPORT const char *fake_cuda_unordered() {
  const std::lock_guard lock(state().mutex);
  text_for_caller = state().clocks.mistakes();
  return text_for_caller.c_str();
}

EXPORT int fake_cuda_modules() {
  const std::lock_guard lock(state().mutex);
  return static_cast<int>(state().modules.size());
}

EXPORT void fake_cuda_set_executor(fake_cuda_executor executor) {
  const std::lock_guard lock(state().mutex);
  state().executor = executor;
}
