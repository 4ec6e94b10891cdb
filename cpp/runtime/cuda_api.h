// The part of NVIDIA's driver interface (libcuda) that is used here, in declarations of our own: a
// table of functions under the versioned names that the library exports, with the types and numbers
// of its published binary interface. Nothing of a CUDA toolkit is needed to build or to run.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tilewright::cuda {

using Result = std::int32_t;
/// What cuDeviceGet gives for an ordinal; they need not be the same.
enum class DeviceHandle : std::int32_t {};
using Address = std::uint64_t;
using Context = struct ContextHandle *;
using Module = struct ModuleHandle *;
using Function = struct FunctionHandle *;
using Stream = struct StreamHandle *;
using Event = struct EventHandle *;
using Pool = struct PoolHandle *;
using Link = struct LinkHandle *;

// ---- results ----

enum : Result {
  Success = 0,
  InvalidValue = 1,
  OutOfMemory = 2,
  NotInitialized = 3,
  Deinitialized = 4,
  StubLibrary = 34,
  DeviceUnavailable = 46,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForDevice = 209,
  EccUncorrectable = 214,
  InvalidPtx = 218,
  LinkUncorrectable = 220,
  NoCompiler = 221,
  UnsupportedPtxVersion = 222,
  CompilationDisabled = 223,
  Contained = 226,
  InvalidHandle = 400,
  NotFound = 500,
  NotReady = 600,
  IllegalAddress = 700,
  OutOfResources = 701,
  LaunchTimeout = 702,
  ContextDestroyed = 709,
  Assertion = 710,
  StackError = 714,
  IllegalInstruction = 715,
  MisalignedAddress = 716,
  InvalidAddressSpace = 717,
  InvalidProgramCounter = 718,
  LaunchFailed = 719,
  TensorMemoryLeak = 721,
  NotSupported = 801,
  SystemNotReady = 802,
  SystemMismatch = 803,
  CompatibilityNotSupported = 804,
  ExternalDevice = 911,
  Unknown = 999
};

// ---- numbers of attributes and options ----

enum : std::int32_t { // of a device
  MaxThreadsPerBlock = 1,
  MaxBlockX = 2, ///< and y, z
  MaxGridX = 5,  ///< and y, z
  SharedBytesPerBlock = 8,
  WarpSize = 10,
  MaxPitch = 11, ///< between rows of a copy
  Multiprocessors = 16,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  SharedBytesPerBlockOptIn = 97,
  MemoryPools = 115
};

enum : std::int32_t { // of a function
  FunctionMaxThreads = 0,
  FunctionSharedBytes = 1,
  FunctionRegisters = 4,
  FunctionMaxDynamicSharedBytes = 8
};

enum : std::int32_t { JitErrorLog = 5, JitErrorLogBytes = 6, InputIsPtx = 1 };
enum : std::int32_t { PoolReleaseThreshold = 4 };
enum : std::int32_t { PointerDevice = 9 };
enum : std::uint32_t { StreamNonBlocking = 1, EventWithoutTiming = 2 };
enum : std::uint32_t { HostMemory = 1, DeviceMemoryKind = 2 };

/// The streams that need no handle: the one of a context, and one for each thread.
inline Stream legacy_stream() { return reinterpret_cast<Stream>(std::uintptr_t{1}); }
inline Stream per_thread_stream() { return reinterpret_cast<Stream>(std::uintptr_t{2}); }

// ---- structures ----

struct PoolProperties {
  std::int32_t allocation_type = 1; ///< pinned, the only one
  std::int32_t handle_types = 0;
  std::int32_t location_type = 1; ///< a device
  std::int32_t location = 0;
  void *security = nullptr;
  std::size_t max_bytes = 0;
  std::uint16_t usage = 0;
  unsigned char reserved[54] = {};
};

struct Rows {
  std::size_t x = 0;
  std::size_t y = 0;
  std::uint32_t kind = 0;
  const void *host = nullptr;
  Address device = 0;
  void *array = nullptr;
  std::size_t pitch = 0;
};

struct CopyOfRows {
  Rows from;
  Rows to;
  std::size_t bytes = 0; ///< of a row
  std::size_t rows = 0;
};

static_assert(sizeof(PoolProperties) == 88 && sizeof(CopyOfRows) == 128);

// ---- functions ----

// FUNCTION(what it is called here, the exported name, the types of its arguments)
#define TILEWRIGHT_CUDA_FUNCTIONS(FUNCTION)                                                        \
  FUNCTION(initialise, cuInit, (std::uint32_t flags))                                              \
  FUNCTION(device_count, cuDeviceGetCount, (std::int32_t *count))                                  \
  FUNCTION(device, cuDeviceGet, (DeviceHandle * device, std::int32_t ordinal))                     \
  FUNCTION(device_name, cuDeviceGetName, (char *name, std::int32_t bytes, DeviceHandle device))    \
  FUNCTION(device_memory, cuDeviceTotalMem_v2, (std::size_t *bytes, DeviceHandle device))          \
  FUNCTION(device_attribute, cuDeviceGetAttribute,                                                 \
           (std::int32_t *value, std::int32_t attribute, DeviceHandle device))                     \
  FUNCTION(retain_context, cuDevicePrimaryCtxRetain, (Context * context, DeviceHandle device))     \
  FUNCTION(release_context, cuDevicePrimaryCtxRelease_v2, (DeviceHandle device))                   \
  FUNCTION(current_context, cuCtxGetCurrent, (Context * context))                                  \
  FUNCTION(push_context, cuCtxPushCurrent_v2, (Context context))                                   \
  FUNCTION(pop_context, cuCtxPopCurrent_v2, (Context * context))                                   \
  FUNCTION(synchronize_context, cuCtxSynchronize, ())                                              \
  FUNCTION(load_module, cuModuleLoadDataEx,                                                        \
           (Module * module, const void *image, std::uint32_t count, std::int32_t *options,        \
            void **values))                                                                        \
  FUNCTION(unload_module, cuModuleUnload, (Module module))                                         \
  FUNCTION(module_function, cuModuleGetFunction,                                                   \
           (Function * function, Module module, const char *name))                                 \
  FUNCTION(create_link, cuLinkCreate_v2,                                                           \
           (std::uint32_t count, std::int32_t *options, void **values, Link *link))                \
  FUNCTION(add_to_link, cuLinkAddData_v2,                                                          \
           (Link link, std::int32_t type, void *data, std::size_t bytes, const char *name,         \
            std::uint32_t count, std::int32_t *options, void **values))                            \
  FUNCTION(complete_link, cuLinkComplete, (Link link, void **cubin, std::size_t *bytes))           \
  FUNCTION(destroy_link, cuLinkDestroy, (Link link))                                               \
  FUNCTION(function_attribute, cuFuncGetAttribute,                                                 \
           (std::int32_t *value, std::int32_t attribute, Function function))                       \
  FUNCTION(set_function_attribute, cuFuncSetAttribute,                                             \
           (Function function, std::int32_t attribute, std::int32_t value))                        \
  FUNCTION(launch, cuLaunchKernel,                                                                 \
           (Function function, std::uint32_t grid_x, std::uint32_t grid_y, std::uint32_t grid_z,   \
            std::uint32_t block_x, std::uint32_t block_y, std::uint32_t block_z,                   \
            std::uint32_t shared_bytes, Stream stream, void **arguments, void **extra))            \
  FUNCTION(memory_info, cuMemGetInfo_v2, (std::size_t *free, std::size_t *total))                  \
  FUNCTION(allocate, cuMemAlloc_v2, (Address * memory, std::size_t bytes))                         \
  FUNCTION(free, cuMemFree_v2, (Address memory))                                                   \
  FUNCTION(create_pool, cuMemPoolCreate, (Pool * pool, const PoolProperties *properties))          \
  FUNCTION(set_pool_attribute, cuMemPoolSetAttribute,                                              \
           (Pool pool, std::int32_t attribute, void *value))                                       \
  FUNCTION(trim_pool, cuMemPoolTrimTo, (Pool pool, std::size_t bytes))                             \
  FUNCTION(destroy_pool, cuMemPoolDestroy, (Pool pool))                                            \
  FUNCTION(allocate_from_pool, cuMemAllocFromPoolAsync,                                            \
           (Address * memory, std::size_t bytes, Pool pool, Stream stream))                        \
  FUNCTION(free_in_order, cuMemFreeAsync, (Address memory, Stream stream))                         \
  FUNCTION(copy_in, cuMemcpyHtoDAsync_v2,                                                          \
           (Address to, const void *from, std::size_t bytes, Stream stream))                       \
  FUNCTION(copy_out, cuMemcpyDtoHAsync_v2,                                                         \
           (void *to, Address from, std::size_t bytes, Stream stream))                             \
  FUNCTION(copy, cuMemcpyDtoDAsync_v2,                                                             \
           (Address to, Address from, std::size_t bytes, Stream stream))                           \
  FUNCTION(copy_rows, cuMemcpy2DAsync_v2, (const CopyOfRows *copy, Stream stream))                 \
  FUNCTION(set_bytes, cuMemsetD8Async,                                                             \
           (Address memory, unsigned char value, std::size_t bytes, Stream stream))                \
  FUNCTION(pointer_attribute, cuPointerGetAttribute,                                               \
           (void *value, std::int32_t attribute, Address memory))                                  \
  FUNCTION(create_stream, cuStreamCreate, (Stream * stream, std::uint32_t flags))                  \
  FUNCTION(destroy_stream, cuStreamDestroy_v2, (Stream stream))                                    \
  FUNCTION(synchronize_stream, cuStreamSynchronize, (Stream stream))                               \
  FUNCTION(query_stream, cuStreamQuery, (Stream stream))                                           \
  FUNCTION(wait_event, cuStreamWaitEvent, (Stream stream, Event event, std::uint32_t flags))       \
  FUNCTION(create_event, cuEventCreate, (Event * event, std::uint32_t flags))                      \
  FUNCTION(destroy_event, cuEventDestroy_v2, (Event event))                                        \
  FUNCTION(record_event, cuEventRecord, (Event event, Stream stream))                              \
  FUNCTION(query_event, cuEventQuery, (Event event))                                               \
  FUNCTION(synchronize_event, cuEventSynchronize, (Event event))                                   \
  FUNCTION(elapsed, cuEventElapsedTime, (float *milliseconds, Event start, Event end))             \
  FUNCTION(error_name, cuGetErrorName, (Result result, const char **name))                         \
  FUNCTION(error_text, cuGetErrorString, (Result result, const char **text))

struct Functions {
  // NOLINTBEGIN(bugprone-macro-parentheses): declarations
#define TILEWRIGHT_CUDA_MEMBER(member, exported, arguments) Result(*member) arguments = nullptr;
  TILEWRIGHT_CUDA_FUNCTIONS(TILEWRIGHT_CUDA_MEMBER)
#undef TILEWRIGHT_CUDA_MEMBER
  // NOLINTEND(bugprone-macro-parentheses)
};

} // namespace tilewright::cuda
