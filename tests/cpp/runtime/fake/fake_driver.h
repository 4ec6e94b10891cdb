// The inside of the double of libcuda: its state, which tests steer, and what its functions check.
#pragma once

#include "fake_cuda.h"
#include "ptx.h"
#include "runtime/cuda_api.h"
#include "stream_clocks.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <sys/types.h>
#include <vector>

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
  std::shared_ptr<const fake_driver::PtxKernel> code; ///< null: it does nothing
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

namespace fake_driver {

using namespace tilewright::cuda;

inline constexpr const char *binary_mark = "\x7f"
                                           "FAKE";
inline constexpr int shared_limit = 48 << 10;
inline constexpr int max_shared_bytes = 100 << 10;

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
  bool runs_kernels = false;
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

State &state();
void configure(State &state, const char *settings);

extern ContextHandle foreign;
extern thread_local std::vector<Context> stack;
extern thread_local std::string text_for_caller;

template <class... Parts>
void note(const Parts &...parts) {
  if (state().is_quiet) {
    return;
  }
  std::ostringstream line;
  (line << ... << parts);
  state().log.push_back(line.str());
}

int number_of(Stream stream);
/// As number_of, but that the stream of each thread has a number for each.
int clock_of(Stream stream);
/// The stream gets work.
void advance(Stream stream);
/// The work that a stream has got uses the block in which this address is, if there is one.
void use(Stream stream, Address at, const char *work);
bool is_final(Result result);
/// What every function begins with: counts the call, and whether it fails by the tests' wish.
/// `touches`: an error of the device that was met before comes again.
Result enter(const char *function, bool needs_context = true, bool touches = true);

#define BEGIN(...)                                                                                 \
  const std::lock_guard lock(state().mutex);                                                       \
  if (const Result begun = enter(__VA_ARGS__); begun != Success) {                                 \
    return begun;                                                                                  \
  }

bool is_busy();
/// Until all work is done, while other threads may call.
void wait_for_all();
bool is_stream(Stream stream);
/// Whether the bytes lie in one block of the current device.
bool is_memory(Address at, std::size_t bytes);

/// A driver's handles need not be the ordinals that they were asked for with; these are none.
inline constexpr std::int32_t first_device_handle = 1000;

std::optional<std::size_t> ordinal_of(DeviceHandle device);
std::size_t in_use(int device);
Result allocate(Address *memory, std::size_t bytes);
Result release(Address memory);
void *host(Address memory);

} // namespace fake_driver
