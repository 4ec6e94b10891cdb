// A test double of NVIDIA's libcuda: what runtime/cuda_api.h names, on the host's memory. Work is
// done when it is given; streams and events are checked to exist, and what is done with them is
// logged. Contexts, sizes, lifetimes and places of memory are checked as the driver would. Here:
// the process, its devices and contexts.
#include "fake_driver.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <unistd.h>

using namespace fake_driver;

namespace {

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

// NOLINTEND(readability-identifier-naming)
