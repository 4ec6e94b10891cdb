// A test double of NVIDIA's libcuda: what runtime/cuda_api.h names, on the host's memory. Work is
// done when it is given; streams and events are checked to exist, and what is done with them is
// logged. Contexts, sizes, lifetimes and places of memory are checked as the driver would.
#include "fake_cuda.h"

#include "runtime/cuda_api.h"
#include "stream_clocks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace tilewright::cuda; // NOLINT(google-build-using-namespace)

#define EXPORT extern "C" __attribute__((visibility("default")))

// What handles point to.
namespace tilewright::cuda {
struct ContextHandle {
  int device;
};
struct FunctionHandle {
  std::string name;
  std::vector<int> sizes; ///< of the arguments
  int device = 0;
  int dynamic_shared_bytes = 48 << 10;
};
struct ModuleHandle {
  int device;
  std::string ptx;
  std::map<std::string, FunctionHandle> functions;
};
struct StreamHandle {
  int number;
  int device;
};
struct EventHandle {
  int number;
  bool has_time;
  bool is_recorded = false;
  std::chrono::steady_clock::time_point at;
};
struct PoolHandle {
  int device;
};
struct LinkHandle {
  std::string ptx;
  std::string cubin;
  char *log = nullptr;
  std::size_t log_bytes = 0;
};
} // namespace tilewright::cuda

namespace {

constexpr const char *binary_mark = "\x7f"
                                    "FAKE";
constexpr int shared_limit = 48 << 10;
constexpr int max_shared_bytes = 100 << 10;

struct Failure {
  std::string function;
  int nth; ///< 0: every one
  Result result;
};

struct Block {
  std::size_t bytes;
  int device;
};

struct State {
  std::recursive_mutex mutex;
  int devices = 1;
  int version = 12040;
  int capability = 90;
  std::size_t memory = std::size_t{1} << 30;
  bool has_pools = true;
  int newest_ptx = 85;
  int max_pitch = 2147483647;
  Result init = Success;
  bool is_quiet = false;
  std::chrono::steady_clock::time_point done_at; ///< streams and events
  std::vector<Failure> failures;
  std::map<std::string, Result> faults;

  pid_t started = 0; ///< the process that called cuInit
  std::vector<ContextHandle> contexts;
  std::vector<int> retained;
  std::map<int, Result> lost;
  std::map<Address, Block> blocks;
  std::set<Stream> streams;
  std::set<Event> events;
  std::set<Module> modules;
  std::set<Pool> pools;
  std::map<std::string, int> calls;
  std::vector<std::string> log;
  StreamClocks clocks;
  int next_number = 3; ///< of streams and events
  fake_cuda_executor executor = nullptr;
};

void configure(State &state, const char *settings);

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
    } else if (key == "busy") {
      state.done_at = std::chrono::steady_clock::now() + std::chrono::milliseconds(number);
    } else if (key == "init") {
      state.init = static_cast<Result>(number);
    } else if (key == "fail" || key == "fault") {
      add_failure(state, key, value);
    }
  }
}

template <class... Parts>
void note(const Parts &...parts) {
  if (state().is_quiet) {
    return;
  }
  std::ostringstream line;
  (line << ... << parts);
  state().log.push_back(line.str());
}

int number_of(Stream stream) {
  const auto value = reinterpret_cast<std::uintptr_t>(stream);
  return value <= 2 ? static_cast<int>(value) : stream->number;
}

/// As number_of, but that the stream of each thread has a number for each.
int clock_of(Stream stream) {
  static std::atomic<int> next{-1};
  thread_local const int own = next--;
  const int number = number_of(stream);
  return number == 2 ? own : number == 1 ? StreamClocks::legacy : number;
}

/// The stream gets work.
void advance(Stream stream) {
  if (!state().is_quiet) {
    state().clocks.advance(clock_of(stream));
  }
}

/// The work that a stream has got uses the block in which this address is, if there is one.
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

/// What every function begins with: counts the call, and whether it fails by the tests' wish.
/// `touches`: an error of the device that was met before comes again.
Result enter(const char *function, bool needs_context = true, bool touches = true) {
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

#define BEGIN(...)                                                                                 \
  const std::lock_guard lock(state().mutex);                                                       \
  if (const Result begun = enter(__VA_ARGS__); begun != Success) {                                 \
    return begun;                                                                                  \
  }

bool is_busy() { return std::chrono::steady_clock::now() < state().done_at; }

/// Until all work is done, while other threads may call.
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

/// Whether the bytes lie in one block of the current device.
bool is_memory(Address at, std::size_t bytes) {
  auto after = state().blocks.upper_bound(at);
  if (after == state().blocks.begin()) {
    return false;
  }
  const auto &[start, block] = *--after;
  return at + bytes <= start + block.bytes && block.device == stack.back()->device;
}

/// A driver's handles need not be the ordinals that they were asked for with; these are none.
constexpr std::int32_t first_device_handle = 1000;

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
  std::free(reinterpret_cast<void *>(memory)); // NOLINT(performance-no-int-to-ptr)
  state().clocks.forget(memory);
  state().blocks.erase(found);
  return Success;
}

void *host(Address memory) {
  return reinterpret_cast<void *>(memory); // NOLINT(performance-no-int-to-ptr)
}

/// The sizes of a kernel's arguments, from its declaration; false where there is no such kernel.
bool find_entry(const std::string &ptx, const std::string &name, std::vector<int> &sizes) {
  const auto at = ptx.find(".entry " + name + "(");
  if (at == std::string::npos) {
    return false;
  }
  const std::string declared = ptx.substr(at, ptx.find(')', at) - at);
  std::istringstream words(declared);
  std::string word;
  bool is_parameter = false;
  while (words >> word) {
    if (word.find(".param") != std::string::npos) {
      is_parameter = true;
    } else if (is_parameter &&
               (word[1] == 'u' || word[1] == 'b' || word[1] == 's' || word[1] == 'f')) {
      sizes.push_back(std::atoi(word.c_str() + 2) / 8);
      is_parameter = false;
    }
  }
  return true;
}

/// What the compiler says of PTX; Success where it is well.
Result compile(const std::string &ptx, std::string &log) {
  const auto version = ptx.find(".version ");
  if (version == std::string::npos) {
    log = "ptxas fatal   : Missing .version directive at start of file";
    return InvalidPtx;
  }
  const int major = ptx[version + 9] - '0';
  const int minor = ptx[version + 11] - '0';
  if (major * 10 + minor > state().newest_ptx) {
    return UnsupportedPtxVersion;
  }
  const auto target = ptx.find(".target sm_");
  const int architecture = target == std::string::npos ? 0 : std::atoi(ptx.c_str() + target + 11);
  if (architecture > state().capability) {
    return NoBinaryForDevice;
  }
  // The first version that knows it (the PTX manual's release notes).
  const int least = architecture >= 89   ? 78
                    : architecture >= 87 ? 74
                    : architecture >= 86 ? 71
                    : architecture >= 80 ? 70
                                         : 63;
  if (major * 10 + minor < least) {
    log = "ptxas application ptx input, line 2; error   : PTX .version " + std::to_string(major) +
          "." + std::to_string(minor) + " does not support .target sm_" +
          std::to_string(architecture);
    return InvalidPtx;
  }
  if (ptx.find("wrong_instruction") != std::string::npos) {
    log = "ptxas application ptx input, line 7; error   : Not a name of any known instruction";
    return InvalidPtx;
  }
  return Success;
}

void write_log(std::uint32_t count, const std::int32_t *options, void **values,
               const std::string &log) {
  char *buffer = nullptr;
  std::size_t bytes = 0;
  for (std::uint32_t o = 0; o < count; ++o) {
    if (options[o] == JitErrorLog) {
      buffer = static_cast<char *>(values[o]);
    } else if (options[o] == JitErrorLogBytes) {
      bytes = reinterpret_cast<std::size_t>(values[o]);
    }
  }
  if (buffer != nullptr && bytes != 0) {
    std::snprintf(buffer, bytes, "%s", log.c_str());
  }
}

struct ResultName {
  Result result;
  const char *name;
  const char *text;
};

constexpr ResultName result_names[] = {
    {InvalidValue, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {OutOfMemory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {NotInitialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {StubLibrary, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {NoDevice, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {InvalidImage, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {InvalidContext, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {NoBinaryForDevice, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {InvalidPtx, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {UnsupportedPtxVersion, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {InvalidHandle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {NotFound, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {NotReady, "CUDA_ERROR_NOT_READY", "device not ready"},
    {IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {OutOfResources, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {Assertion, "CUDA_ERROR_ASSERT", "device-side assert triggered"},
    {LaunchFailed, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {SystemMismatch, "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
     "system has unsupported display driver / cuda driver combination"},
    {Unknown, "CUDA_ERROR_UNKNOWN", "unknown error"},
};

const ResultName *find_result(Result result) {
  for (const ResultName &each : result_names) {
    if (each.result == result) {
      return &each;
    }
  }
  return nullptr;
}

} // namespace

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

// The library's own names.
// NOLINTBEGIN(readability-identifier-naming)

// ---- the process and its devices ----

EXPORT Result cuDriverGetVersion(std::int32_t *version) {
  const std::lock_guard lock(state().mutex);
  *version = state().version;
  return state().version < 0 ? -state().version : Success;
}

EXPORT Result cuInit(std::uint32_t) {
  State &all = state();
  const std::lock_guard lock(all.mutex);
  ++all.calls["cuInit"];
  if (all.started != 0 && all.started != getpid()) {
    return NotInitialized;
  }
  if (all.init != Success) {
    return all.init;
  }
  if (all.started == 0) {
    all.started = getpid();
    all.contexts.resize(static_cast<std::size_t>(all.devices));
    all.retained.resize(static_cast<std::size_t>(all.devices));
    for (int d = 0; d < all.devices; ++d) {
      all.contexts[static_cast<std::size_t>(d)].device = d;
    }
  }
  return Success;
}

EXPORT Result cuDeviceGetCount(std::int32_t *count) {
  BEGIN("cuDeviceGetCount", false, false)
  *count = state().devices;
  return Success;
}

EXPORT Result cuDeviceGet(DeviceHandle *device, std::int32_t ordinal) {
  BEGIN("cuDeviceGet", false, false)
  if (ordinal < 0 || ordinal >= state().devices) {
    return InvalidDevice;
  }
  *device = static_cast<DeviceHandle>(first_device_handle + ordinal);
  return Success;
}

EXPORT Result cuDeviceGetName(char *name, std::int32_t bytes, DeviceHandle device) {
  BEGIN("cuDeviceGetName", false, false)
  if (!ordinal_of(device)) {
    return InvalidDevice;
  }
  std::snprintf(name, static_cast<std::size_t>(bytes), "Fake GPU %zu", *ordinal_of(device));
  return Success;
}

EXPORT Result cuDeviceTotalMem_v2(std::size_t *bytes, DeviceHandle device) {
  BEGIN("cuDeviceTotalMem_v2", false, false)
  if (!ordinal_of(device)) {
    return InvalidDevice;
  }
  *bytes = state().memory;
  return Success;
}

EXPORT Result cuDeviceGetAttribute(std::int32_t *value, std::int32_t attribute,
                                   DeviceHandle device) {
  BEGIN("cuDeviceGetAttribute", false, false)
  if (!ordinal_of(device)) {
    return InvalidDevice;
  }
  switch (attribute) {
  case MaxThreadsPerBlock:
  case MaxBlockX:
  case MaxBlockX + 1:
    *value = 1024;
    break;
  case MaxBlockX + 2:
    *value = 64;
    break;
  case MaxGridX:
    *value = 2147483647;
    break;
  case MaxGridX + 1:
  case MaxGridX + 2:
    *value = 65535;
    break;
  case SharedBytesPerBlock:
    *value = shared_limit;
    break;
  case SharedBytesPerBlockOptIn:
    *value = max_shared_bytes;
    break;
  case WarpSize:
    *value = 32;
    break;
  case MaxPitch:
    *value = state().max_pitch;
    break;
  case Multiprocessors:
    *value = 4;
    break;
  case CapabilityMajor:
    *value = state().capability / 10;
    break;
  case CapabilityMinor:
    *value = state().capability % 10;
    break;
  case MemoryPools:
    *value = state().has_pools ? 1 : 0;
    break;
  default:
    return InvalidValue;
  }
  return Success;
}

EXPORT Result cuGetErrorName(Result result, const char **name) {
  const ResultName *found = find_result(result);
  *name = found == nullptr ? nullptr : found->name;
  return found == nullptr ? InvalidValue : Success;
}

EXPORT Result cuGetErrorString(Result result, const char **text) {
  const ResultName *found = find_result(result);
  *text = found == nullptr ? nullptr : found->text;
  return found == nullptr ? InvalidValue : Success;
}

// ---- contexts ----

EXPORT Result cuDevicePrimaryCtxRetain(Context *context, DeviceHandle device) {
  BEGIN("cuDevicePrimaryCtxRetain", false, false)
  const auto ordinal = ordinal_of(device);
  if (!ordinal) {
    return InvalidDevice;
  }
  ++state().retained.at(*ordinal);
  *context = &state().contexts.at(*ordinal);
  return Success;
}

EXPORT Result cuDevicePrimaryCtxRelease_v2(DeviceHandle device) {
  BEGIN("cuDevicePrimaryCtxRelease_v2", false, false)
  const auto ordinal = ordinal_of(device);
  if (!ordinal || state().retained.at(*ordinal) == 0) {
    return InvalidDevice;
  }
  --state().retained.at(*ordinal);
  return Success;
}

EXPORT Result cuCtxGetCurrent(Context *context) {
  BEGIN("cuCtxGetCurrent", false, false)
  *context = stack.empty() ? nullptr : stack.back();
  return Success;
}

EXPORT Result cuCtxPushCurrent_v2(Context context) {
  BEGIN("cuCtxPushCurrent_v2", false, false)
  stack.push_back(context);
  return Success;
}

EXPORT Result cuCtxPopCurrent_v2(Context *context) {
  BEGIN("cuCtxPopCurrent_v2", true, false)
  *context = stack.back();
  stack.pop_back();
  return Success;
}

EXPORT Result cuCtxSynchronize() {
  wait_for_all();
  BEGIN("cuCtxSynchronize")
  state().clocks.wait_for_all_on_host();
  note("synchronize context ", stack.back()->device);
  return Success;
}

// ---- modules ----

EXPORT Result cuModuleLoadDataEx(Module *module, const void *image, std::uint32_t count,
                                 std::int32_t *options, void **values) {
  BEGIN("cuModuleLoadDataEx")
  std::string text = static_cast<const char *>(image);
  const std::string mark = std::string(binary_mark) + std::to_string(state().capability) + "\n";
  if (text.compare(0, 5, binary_mark) == 0) {
    if (text.compare(0, mark.size(), mark) != 0) {
      return NoBinaryForDevice;
    }
    text = text.substr(mark.size());
  } else {
    std::string log;
    if (const Result result = compile(text, log); result != Success) {
      write_log(count, options, values, log);
      return result == InvalidPtx && text.find(".version") == std::string::npos ? InvalidImage
                                                                                : result;
    }
  }
  *module = new ModuleHandle{stack.back()->device, text, {}};
  state().modules.insert(*module);
  note("load_module device ", stack.back()->device);
  return Success;
}

EXPORT Result cuModuleUnload(Module module) {
  BEGIN("cuModuleUnload")
  if (state().modules.erase(module) == 0) {
    return InvalidHandle;
  }
  delete module;
  return Success;
}

EXPORT Result cuModuleGetFunction(Function *function, Module module, const char *name) {
  BEGIN("cuModuleGetFunction")
  if (state().modules.count(module) == 0) {
    return InvalidHandle;
  }
  FunctionHandle found;
  found.name = name;
  found.device = module->device;
  if (!find_entry(module->ptx, name, found.sizes)) {
    return NotFound;
  }
  *function = &module->functions.emplace(name, std::move(found)).first->second;
  return Success;
}

EXPORT Result cuLinkCreate_v2(std::uint32_t count, std::int32_t *options, void **values,
                              Link *link) {
  BEGIN("cuLinkCreate_v2")
  *link = new LinkHandle();
  for (std::uint32_t o = 0; o < count; ++o) {
    if (options[o] == JitErrorLog) {
      (*link)->log = static_cast<char *>(values[o]);
    } else if (options[o] == JitErrorLogBytes) {
      (*link)->log_bytes = reinterpret_cast<std::size_t>(values[o]);
    }
  }
  return Success;
}

EXPORT Result cuLinkAddData_v2(Link link, std::int32_t type, void *data, std::size_t bytes,
                               const char *, std::uint32_t, std::int32_t *, void **) {
  BEGIN("cuLinkAddData_v2")
  const auto *text = static_cast<const char *>(data);
  if (type != InputIsPtx || bytes == 0 || text[bytes - 1] != '\0') {
    return InvalidValue;
  }
  link->ptx = text;
  std::string log;
  const Result result = compile(link->ptx, log);
  if (link->log != nullptr && link->log_bytes != 0) {
    std::snprintf(link->log, link->log_bytes, "%s", log.c_str());
  }
  return result;
}

EXPORT Result cuLinkComplete(Link link, void **cubin, std::size_t *bytes) {
  BEGIN("cuLinkComplete")
  link->cubin = binary_mark + std::to_string(state().capability) + "\n" + link->ptx;
  *cubin = link->cubin.data();
  *bytes = link->cubin.size() + 1;
  note("compile");
  return Success;
}

EXPORT Result cuLinkDestroy(Link link) {
  const std::lock_guard lock(state().mutex);
  ++state().calls["cuLinkDestroy"];
  delete link;
  return Success;
}

EXPORT Result cuFuncGetAttribute(std::int32_t *value, std::int32_t attribute, Function function) {
  BEGIN("cuFuncGetAttribute")
  switch (attribute) {
  case FunctionMaxThreads:
    *value = function->name.find("heavy") == std::string::npos ? 1024 : 256;
    break;
  case FunctionSharedBytes:
    *value = function->name.find("shared") == std::string::npos ? 0 : 1024;
    break;
  case FunctionRegisters:
    *value = 40;
    break;
  default:
    return InvalidValue;
  }
  return Success;
}

EXPORT Result cuFuncSetAttribute(Function function, std::int32_t attribute, std::int32_t value) {
  BEGIN("cuFuncSetAttribute")
  if (attribute != FunctionMaxDynamicSharedBytes || value > max_shared_bytes) {
    return InvalidValue;
  }
  function->dynamic_shared_bytes = value;
  note("allow_shared ", value);
  return Success;
}

EXPORT Result cuLaunchKernel(Function function, std::uint32_t grid_x, std::uint32_t grid_y,
                             std::uint32_t grid_z, std::uint32_t block_x, std::uint32_t block_y,
                             std::uint32_t block_z, std::uint32_t shared_bytes, Stream stream,
                             void **arguments, void **extra) {
  BEGIN("cuLaunchKernel")
  if (extra != nullptr || !is_stream(stream) || function->device != stack.back()->device) {
    return InvalidHandle;
  }
  const unsigned grid[3] = {grid_x, grid_y, grid_z};
  const unsigned block[3] = {block_x, block_y, block_z};
  const std::uint64_t threads = std::uint64_t{block_x} * block_y * block_z;
  if (grid_x == 0 || grid_y == 0 || grid_z == 0 || threads == 0 ||
      static_cast<int>(shared_bytes) > function->dynamic_shared_bytes) {
    return InvalidValue;
  }
  if (function->name.find("heavy") != std::string::npos && threads > 256) {
    return OutOfResources;
  }
  std::ostringstream bytes;
  for (std::size_t a = 0; a < function->sizes.size() && !state().is_quiet; ++a) {
    bytes << (a == 0 ? "" : ",");
    for (int b = function->sizes[a]; b-- > 0;) {
      char digits[3];
      std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char *>(arguments[a])[b]);
      bytes << digits;
    }
  }
  note("launch ", function->name, " grid ", grid_x, " ", grid_y, " ", grid_z, " block ", block_x,
       " ", block_y, " ", block_z, " shared ", shared_bytes, " stream ", number_of(stream),
       " args ", bytes.str());
  advance(stream);
  for (std::size_t a = 0; a < function->sizes.size(); ++a) {
    Address address = 0;
    if (function->sizes[a] == sizeof(address)) {
      std::memcpy(&address, arguments[a], sizeof(address));
      use(stream, address, "a kernel");
    }
  }
  auto fault = state().faults.find(function->name);
  fault = fault == state().faults.end() ? state().faults.find("*") : fault;
  if (fault != state().faults.end()) {
    state().lost[stack.back()->device] = fault->second;
    return Success;
  }
  if (state().executor != nullptr) {
    state().executor(function->name.c_str(), grid, block, arguments,
                     static_cast<int>(function->sizes.size()));
  }
  return Success;
}

// ---- memory ----

EXPORT Result cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
  BEGIN("cuMemGetInfo_v2")
  *total = state().memory;
  *free = state().memory - in_use(stack.back()->device);
  return Success;
}

EXPORT Result cuMemAlloc_v2(Address *memory, std::size_t bytes) {
  BEGIN("cuMemAlloc_v2")
  note("allocate ", bytes);
  return allocate(memory, bytes);
}

EXPORT Result cuMemFree_v2(Address memory) {
  BEGIN("cuMemFree_v2")
  state().clocks.wait_for_all_on_host();
  note("free");
  return release(memory);
}

EXPORT Result cuMemPoolCreate(Pool *pool, const PoolProperties *properties) {
  BEGIN("cuMemPoolCreate")
  if (!state().has_pools || properties->allocation_type != 1 || properties->location_type != 1) {
    return NotSupported;
  }
  *pool = new PoolHandle{properties->location};
  state().pools.insert(*pool);
  return Success;
}

EXPORT Result cuMemPoolSetAttribute(Pool, std::int32_t, void *) {
  BEGIN("cuMemPoolSetAttribute")
  return Success;
}

EXPORT Result cuMemPoolTrimTo(Pool, std::size_t) {
  BEGIN("cuMemPoolTrimTo")
  note("trim");
  return Success;
}

EXPORT Result cuMemPoolDestroy(Pool pool) {
  BEGIN("cuMemPoolDestroy")
  if (state().pools.erase(pool) == 0) {
    return InvalidHandle;
  }
  delete pool;
  return Success;
}

EXPORT Result cuMemAllocFromPoolAsync(Address *memory, std::size_t bytes, Pool pool,
                                      Stream stream) {
  BEGIN("cuMemAllocFromPoolAsync")
  if (state().pools.count(pool) == 0 || !is_stream(stream) ||
      pool->device != stack.back()->device) {
    return InvalidHandle;
  }
  note("allocate ", bytes, " stream ", number_of(stream));
  const Result made = allocate(memory, bytes);
  if (made == Success) {
    advance(stream);
    use(stream, *memory, "an allocation");
  }
  return made;
}

EXPORT Result cuMemFreeAsync(Address memory, Stream stream) {
  BEGIN("cuMemFreeAsync")
  if (!is_stream(stream)) {
    return InvalidHandle;
  }
  note("free stream ", number_of(stream));
  advance(stream);
  use(stream, memory, "a release");
  return release(memory);
}

EXPORT Result cuMemcpyHtoDAsync_v2(Address to, const void *from, std::size_t bytes, Stream stream) {
  BEGIN("cuMemcpyHtoDAsync_v2")
  if (!is_stream(stream) || !is_memory(to, bytes)) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, to, "a copy");
  note("copy_in ", bytes, " stream ", number_of(stream));
  std::memcpy(host(to), from, bytes);
  return Success;
}

EXPORT Result cuMemcpyDtoHAsync_v2(void *to, Address from, std::size_t bytes, Stream stream) {
  BEGIN("cuMemcpyDtoHAsync_v2")
  if (!is_stream(stream) || !is_memory(from, bytes)) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, from, "a copy");
  note("copy_out ", bytes, " stream ", number_of(stream));
  std::memcpy(to, host(from), bytes);
  return Success;
}

EXPORT Result cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream stream) {
  BEGIN("cuMemcpyDtoDAsync_v2")
  // What becomes of ranges that overlap is not defined: so that tests see it, an error.
  const bool overlap = to < from + bytes && from < to + bytes;
  if (!is_stream(stream) || !is_memory(to, bytes) || !is_memory(from, bytes) || overlap) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, to, "a copy");
  use(stream, from, "a copy");
  note("copy ", bytes, " stream ", number_of(stream));
  std::memcpy(host(to), host(from), bytes);
  return Success;
}

EXPORT Result cuMemcpy2DAsync_v2(const CopyOfRows *copy, Stream stream) {
  BEGIN("cuMemcpy2DAsync_v2")
  const auto place = [&](const Rows &rows) -> char * {
    if (rows.kind == HostMemory) {
      return static_cast<char *>(const_cast<void *>(rows.host));
    }
    const std::size_t bytes = copy->rows == 0 ? 0 : (copy->rows - 1) * rows.pitch + copy->bytes;
    return rows.kind == DeviceMemoryKind && is_memory(rows.device, bytes)
               ? static_cast<char *>(host(rows.device))
               : nullptr;
  };
  char *to = place(copy->to);
  const char *from = place(copy->from);
  const bool overlaps =
      copy->rows > 1 && (copy->to.pitch < copy->bytes || copy->from.pitch < copy->bytes);
  const bool is_too_wide =
      std::max(copy->to.pitch, copy->from.pitch) > static_cast<std::size_t>(state().max_pitch);
  if (!is_stream(stream) || to == nullptr || from == nullptr || overlaps || is_too_wide) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, copy->to.kind == HostMemory ? copy->from.device : copy->to.device, "a copy");
  note("copy_rows ", copy->rows, " x ", copy->bytes, " stream ", number_of(stream));
  for (std::size_t r = 0; r < copy->rows; ++r) {
    std::memcpy(to + r * copy->to.pitch, from + r * copy->from.pitch, copy->bytes);
  }
  return Success;
}

EXPORT Result cuMemsetD8Async(Address memory, unsigned char value, std::size_t bytes,
                              Stream stream) {
  BEGIN("cuMemsetD8Async")
  if (!is_stream(stream) || !is_memory(memory, bytes)) {
    return InvalidValue;
  }
  advance(stream);
  use(stream, memory, "a clear");
  note("clear ", bytes, " stream ", number_of(stream));
  std::memset(host(memory), value, bytes);
  return Success;
}

EXPORT Result cuPointerGetAttribute(void *value, std::int32_t attribute, Address memory) {
  BEGIN("cuPointerGetAttribute", false, false)
  auto after = state().blocks.upper_bound(memory);
  if (attribute != PointerDevice || after == state().blocks.begin()) {
    return InvalidValue;
  }
  const auto &[start, block] = *--after;
  if (memory >= start + block.bytes) {
    return InvalidValue;
  }
  *static_cast<std::int32_t *>(value) = block.device;
  return Success;
}

// ---- streams and events ----

EXPORT Result cuStreamCreate(Stream *stream, std::uint32_t flags) {
  BEGIN("cuStreamCreate")
  *stream = new StreamHandle{state().next_number++, stack.back()->device};
  state().streams.insert(*stream);
  if (flags == StreamNonBlocking) {
    state().clocks.add_independent((*stream)->number);
  }
  note("create stream ", (*stream)->number, flags == StreamNonBlocking ? " non-blocking" : "");
  return Success;
}

EXPORT Result cuStreamDestroy_v2(Stream stream) {
  BEGIN("cuStreamDestroy_v2")
  if (state().streams.erase(stream) == 0) {
    return InvalidHandle;
  }
  note("destroy stream ", stream->number);
  delete stream;
  return Success;
}

EXPORT Result cuStreamSynchronize(Stream stream) {
  wait_for_all();
  BEGIN("cuStreamSynchronize")
  if (!is_stream(stream)) {
    return InvalidHandle;
  }
  state().clocks.wait_on_host(clock_of(stream));
  note("synchronize stream ", number_of(stream));
  return Success;
}

EXPORT Result cuStreamQuery(Stream stream) {
  BEGIN("cuStreamQuery")
  if (!is_stream(stream)) {
    return InvalidHandle;
  }
  if (is_busy()) {
    return NotReady;
  }
  state().clocks.wait_on_host(clock_of(stream));
  return Success;
}

EXPORT Result cuStreamWaitEvent(Stream stream, Event event, std::uint32_t) {
  BEGIN("cuStreamWaitEvent")
  if (!is_stream(stream) || state().events.count(event) == 0) {
    return InvalidHandle;
  }
  state().clocks.wait(clock_of(stream), event->number);
  note("stream ", number_of(stream), " waits for event ", event->number);
  return Success;
}

EXPORT Result cuEventCreate(Event *event, std::uint32_t flags) {
  BEGIN("cuEventCreate")
  *event = new EventHandle{state().next_number++, (flags & EventWithoutTiming) == 0, false, {}};
  state().events.insert(*event);
  return Success;
}

EXPORT Result cuEventDestroy_v2(Event event) {
  BEGIN("cuEventDestroy_v2")
  if (state().events.erase(event) == 0) {
    return InvalidHandle;
  }
  delete event;
  return Success;
}

EXPORT Result cuEventRecord(Event event, Stream stream) {
  BEGIN("cuEventRecord")
  if (!is_stream(stream) || state().events.count(event) == 0) {
    return InvalidHandle;
  }
  state().clocks.record(clock_of(stream), event->number);
  note("record event ", event->number, " stream ", number_of(stream));
  event->is_recorded = true;
  event->at = std::chrono::steady_clock::now();
  return Success;
}

EXPORT Result cuEventQuery(Event event) {
  BEGIN("cuEventQuery")
  if (state().events.count(event) == 0) {
    return InvalidHandle;
  }
  return is_busy() ? NotReady : Success;
}

EXPORT Result cuEventSynchronize(Event event) {
  wait_for_all();
  BEGIN("cuEventSynchronize")
  if (state().events.count(event) == 0) {
    return InvalidHandle;
  }
  state().clocks.wait_for_event_on_host(event->number);
  return Success;
}

EXPORT Result cuEventElapsedTime(float *milliseconds, Event start, Event end) {
  BEGIN("cuEventElapsedTime")
  if (!start->is_recorded || !end->is_recorded || !start->has_time || !end->has_time) {
    return InvalidHandle;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return Success;
}

// NOLINTEND(readability-identifier-naming)
