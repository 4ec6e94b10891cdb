#include "runtime/cuda_driver.h"

#include "runtime/fork_safe.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <utility>

namespace tilewright {

namespace {

constexpr int oldest_version = 12000; // PTX 8.0, and sm_90
constexpr const char *usual_path = "libcuda.so.1";
constexpr const char *path_variable = "TILEWRIGHT_CUDA_DRIVER";

std::string environment(const char *name) {
  const char *text = std::getenv(name);
  return text == nullptr ? std::string() : std::string(text);
}

/// The loaded driver, or why there is none.
struct State {
  std::mutex mutex;
  std::unique_ptr<CudaDriver> driver;
  std::string tried; ///< the path of the problem
  std::optional<Error> problem;
};

std::atomic<bool> lost_in_fork{false};

/// From now on children of this process are told that they cannot use CUDA.
void watch_forks() {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { lost_in_fork.store(true, std::memory_order_relaxed); });
  static_cast<void>(registered);
}

/// What to do about results whose own text does not say.
const char *advice(cuda::Result result) {
  switch (result) {
  case cuda::StubLibrary:
    return "this library is the stub of a CUDA toolkit, for linking only; take its folder "
           "(.../lib64/stubs) out of LD_LIBRARY_PATH";
  case cuda::NotInitialized:
    return "this may be a child of a process that used CUDA; start it with the method \"spawn\" or "
           "\"forkserver\" instead of \"fork\"";
  case cuda::DeviceUnavailable:
    return "another process may have the device for itself (nvidia-smi shows its compute mode)";
  case cuda::SystemNotReady:
    return "the system is not ready for CUDA; on machines with NVSwitch, the fabric manager must "
           "run";
  case cuda::SystemMismatch:
    return "the driver library and the kernel's module are of different versions; after an update "
           "of the driver, restart the machine";
  case cuda::CompatibilityNotSupported:
    return "a forward-compatibility library of CUDA is in LD_LIBRARY_PATH, and this device does "
           "not support it";
  case cuda::UnsupportedPtxVersion:
    return "the driver is older than the code's PTX version; update the driver";
  case cuda::CompilationDisabled:
    return "the environment's CUDA_DISABLE_PTX_JIT keeps the driver from compiling PTX; unset it";
  case cuda::Unknown:
    return "the driver may be in a bad state: see whether nvidia-smi works, and whether "
           "/dev/nvidia-uvm exists";
  default:
    return nullptr;
  }
}

} // namespace

std::string cuda_version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

CudaDriver &CudaDriver::get() {
  require_process();
  State &state = fork_safe<State>();
  const std::lock_guard lock(state.mutex);
  if (state.driver) {
    return *state.driver;
  }
  std::string path = environment(path_variable);
  if (path.empty()) {
    path = usual_path;
  }
  if (state.problem && state.tried == path) {
    throw Error(*state.problem);
  }
  try {
    state.driver = std::make_unique<CudaDriver>(path);
  } catch (const Error &error) {
    state.tried = path;
    state.problem = error;
    throw;
  }
  return *state.driver;
}

CudaDriver::CudaDriver(const std::string &path) : path_(path) {
  library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    const char *reason = dlerror();
    throw Error(ErrorKind::Device,
                fmt::format("NVIDIA's driver library '{}' cannot be loaded ({}); install the "
                            "driver, or name its library in the environment's {}. Without a GPU, "
                            "target=\"gpu-emulator\" runs the same kernels on the processor",
                            path, reason == nullptr ? "no reason given" : reason, path_variable));
  }
  try {
    load_functions();
    start();
  } catch (...) {
    dlclose(library_);
    throw;
  }
}

CudaDriver::~CudaDriver() { dlclose(library_); }

void CudaDriver::load_functions() {
  // Asked first: an old driver lacks functions, and its version says more than their names.
  const auto get_version =
      reinterpret_cast<cuda::Result (*)(std::int32_t *)>(dlsym(library_, "cuDriverGetVersion"));
  if (get_version == nullptr) {
    throw Error(
        ErrorKind::Device,
        fmt::format("'{}' is not NVIDIA's driver library: it has no cuDriverGetVersion", path_));
  }
  if (const cuda::Result result = get_version(&version_); result != cuda::Success) {
    const char *more = advice(result);
    throw Error(ErrorKind::Device,
                fmt::format("the driver library '{}' does not tell its version: error {}{}{}",
                            path_, result, more == nullptr ? "" : "; ",
                            more == nullptr ? "" : more));
  }
  if (version_ < oldest_version) {
    throw Error(ErrorKind::Device,
                fmt::format("the driver library '{}' is of CUDA {}; CUDA {} or newer is needed: "
                            "update the driver (525.60 or newer)",
                            path_, cuda_version_text(version_), cuda_version_text(oldest_version)));
  }
  std::string missing;
  const auto find = [&](const char *name) {
    void *found = dlsym(library_, name);
    if (found == nullptr) {
      missing += missing.empty() ? name : std::string(", ") + name;
    }
    return found;
  };
#define TILEWRIGHT_CUDA_LOAD(member, exported, arguments)                                          \
  functions_.member = reinterpret_cast<decltype(functions_.member)>(find(#exported));
  TILEWRIGHT_CUDA_FUNCTIONS(TILEWRIGHT_CUDA_LOAD)
#undef TILEWRIGHT_CUDA_LOAD
  if (!missing.empty()) {
    throw Error(ErrorKind::Device,
                fmt::format("the driver library '{}' (CUDA {}) has no {}; update the driver", path_,
                            cuda_version_text(version_), missing));
  }
}

void CudaDriver::start() {
  cuda::Result result = functions_.initialise(0);
  if (result == cuda::Success) {
    watch_forks();
    result = functions_.device_count(&device_count_);
  }
  if (result == cuda::NoDevice || (result == cuda::Success && device_count_ == 0)) {
    const char *visible = std::getenv("CUDA_VISIBLE_DEVICES");
    throw Error(ErrorKind::Device,
                fmt::format("the driver library '{}' (CUDA {}) finds no CUDA device{}", path_,
                            cuda_version_text(version_),
                            visible == nullptr
                                ? std::string("; see whether nvidia-smi lists one")
                                : fmt::format("; the environment's CUDA_VISIBLE_DEVICES is '{}'",
                                              visible)));
  }
  check(result,
        fmt::format("start the driver library '{}' (CUDA {})", path_, cuda_version_text(version_)));
}

std::string CudaDriver::describe(cuda::Result result) const {
  const char *name = nullptr;
  const char *text = nullptr;
  if (functions_.error_name(result, &name) != cuda::Success || name == nullptr) {
    return fmt::format("error {}, which this driver does not know", result);
  }
  if (functions_.error_text(result, &text) != cuda::Success || text == nullptr) {
    return fmt::format("{} ({})", name, result);
  }
  return fmt::format("{} ({}): {}", name, result, text);
}

void CudaDriver::check(cuda::Result result, const std::string &doing) const {
  if (result == cuda::Success) {
    return;
  }
  std::string message = fmt::format("cannot {}: {}", doing, describe(result));
  if (const char *more = advice(result)) {
    message += fmt::format("; {}", more);
  }
  Error error(ErrorKind::Device, message);
  error.details["result"] = std::to_string(result);
  throw error;
}

bool CudaDriver::is_lost_in_fork() { return lost_in_fork.load(std::memory_order_relaxed); }

void CudaDriver::require_process() {
  if (is_lost_in_fork()) {
    throw Error(ErrorKind::Device,
                "this process was forked from one that had used CUDA, and CUDA does not work in "
                "such a child; start it with the method \"spawn\" or \"forkserver\" "
                "(multiprocessing.get_context(\"spawn\")), or use the device in the child only. "
                "Functions for the processor and target=\"gpu-emulator\" work here");
  }
}

} // namespace tilewright
