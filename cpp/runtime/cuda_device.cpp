#include "runtime/cuda_device.h"

#include "runtime/fork_safe.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace tilewright {

namespace {

struct State {
  std::mutex mutex;
  std::vector<std::unique_ptr<CudaDevice>> devices;
};

cuda::Address address_of(const void *memory) { return reinterpret_cast<cuda::Address>(memory); }

std::string shape_text(const LaunchShape &shape) {
  return fmt::format("a grid of {} x {} x {} blocks of {} x {} x {} threads", shape.grid[0],
                     shape.grid[1], shape.grid[2], shape.block[0], shape.block[1], shape.block[2]);
}

} // namespace

CudaDevice &CudaDevice::get(int number) {
  const CudaDriver &driver = CudaDriver::get();
  State &state = fork_safe<State>();
  const std::lock_guard lock(state.mutex);
  if (number < 0 || number >= driver.device_count()) {
    cuda_properties(driver, number); // throws
  }
  if (state.devices.empty()) {
    state.devices.resize(static_cast<std::size_t>(driver.device_count()));
  }
  std::unique_ptr<CudaDevice> &device = state.devices[static_cast<std::size_t>(number)];
  if (!device) {
    device = std::make_unique<CudaDevice>(driver, number);
  }
  return *device;
}

CudaDevice::CudaDevice(const CudaDriver &driver, int number)
    : context_(driver, number), memory_(context_), modules_(context_) {}

// ---- copies ----

void CudaDevice::copy_in(void *device, const void *host, std::int64_t bytes) {
  if (bytes <= 0) {
    return;
  }
  const CudaContext::Scope scope(context_);
  const cuda::Stream stream = context_.stream();
  const cuda::Functions &call = context_.functions();
  const std::string doing = fmt::format("copy {} bytes to the device", bytes);
  context_.settle(stream);
  context_.check(call.copy_in(address_of(device), host, static_cast<std::size_t>(bytes), stream),
                 doing);
  // From pinned memory the copy may not have begun.
  context_.check(call.synchronize_stream(stream), doing);
}

void CudaDevice::copy_out(void *host, const void *device, std::int64_t bytes) {
  if (bytes <= 0) {
    return;
  }
  const CudaContext::Scope scope(context_);
  const cuda::Stream stream = context_.stream();
  const cuda::Functions &call = context_.functions();
  const std::string doing = fmt::format("copy {} bytes from the device", bytes);
  context_.settle(stream);
  context_.check(call.copy_out(host, address_of(device), static_cast<std::size_t>(bytes), stream),
                 doing);
  context_.check(call.synchronize_stream(stream), doing);
}

void CudaDevice::copy(void *to, const void *from, std::int64_t bytes) {
  if (bytes <= 0) {
    return;
  }
  const CudaContext::Scope scope(context_);
  context_.check(context_.functions().copy(address_of(to), address_of(from),
                                           static_cast<std::size_t>(bytes), context_.stream()),
                 fmt::format("copy {} bytes on the device", bytes));
}

void CudaDevice::clear(void *memory, std::int64_t bytes) {
  if (bytes <= 0) {
    return;
  }
  const CudaContext::Scope scope(context_);
  context_.check(context_.functions().set_bytes(address_of(memory), 0,
                                                static_cast<std::size_t>(bytes), context_.stream()),
                 fmt::format("clear {} bytes on the device", bytes));
}

void CudaDevice::copy_in_rows(void *device, std::int64_t device_pitch, const void *host,
                              std::int64_t host_pitch, std::int64_t bytes, std::int64_t rows) {
  if (std::max(device_pitch, host_pitch) > context_.properties().max_pitch) {
    Device::copy_in_rows(device, device_pitch, host, host_pitch, bytes, rows);
    return;
  }
  const CudaContext::Scope scope(context_);
  const cuda::Stream stream = context_.stream();
  cuda::CopyOfRows copy;
  copy.from = {0, 0, cuda::HostMemory, host, 0, nullptr, static_cast<std::size_t>(host_pitch)};
  copy.to = {0,
             0,
             cuda::DeviceMemoryKind,
             nullptr,
             address_of(device),
             nullptr,
             static_cast<std::size_t>(device_pitch)};
  copy.bytes = static_cast<std::size_t>(bytes);
  copy.rows = static_cast<std::size_t>(rows);
  const std::string doing = fmt::format("copy {} rows of {} bytes to the device", rows, bytes);
  context_.settle(stream);
  context_.check(context_.functions().copy_rows(&copy, stream), doing);
  context_.check(context_.functions().synchronize_stream(stream), doing);
}

void CudaDevice::copy_out_rows(void *host, std::int64_t host_pitch, const void *device,
                               std::int64_t device_pitch, std::int64_t bytes, std::int64_t rows) {
  if (std::max(device_pitch, host_pitch) > context_.properties().max_pitch) {
    Device::copy_out_rows(host, host_pitch, device, device_pitch, bytes, rows);
    return;
  }
  const CudaContext::Scope scope(context_);
  const cuda::Stream stream = context_.stream();
  cuda::CopyOfRows copy;
  copy.from = {0,
               0,
               cuda::DeviceMemoryKind,
               nullptr,
               address_of(device),
               nullptr,
               static_cast<std::size_t>(device_pitch)};
  copy.to = {0, 0, cuda::HostMemory, host, 0, nullptr, static_cast<std::size_t>(host_pitch)};
  copy.bytes = static_cast<std::size_t>(bytes);
  copy.rows = static_cast<std::size_t>(rows);
  const std::string doing = fmt::format("copy {} rows of {} bytes from the device", rows, bytes);
  context_.settle(stream);
  context_.check(context_.functions().copy_rows(&copy, stream), doing);
  context_.check(context_.functions().synchronize_stream(stream), doing);
}

void CudaDevice::wait_for(const std::shared_ptr<void> &place) {
  if (place) {
    context_.wait_for(*static_cast<CudaPlace *>(place.get()));
  }
}

// ---- launches ----

void CudaDevice::require_fits(const DeviceKernel &kernel, const LaunchShape &shape) const {
  const CudaProperties &limits = context_.properties();
  for (int d = 0; d < 3; ++d) {
    if (shape.grid[d] > limits.grid[d] || shape.block[d] > limits.block[d]) {
      throw Error(ErrorKind::Device,
                  fmt::format("kernel '{}' asks for {}; {} has at most {} x {} x {} blocks of at "
                              "most {} x {} x {} threads; the last loop of gpu_block is along x: "
                              "have the longest one there, or take larger tiles",
                              kernel.name, shape_text(shape), context_.title(), limits.grid[0],
                              limits.grid[1], limits.grid[2], limits.block[0], limits.block[1],
                              limits.block[2]));
    }
  }
  const std::int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  if (threads > limits.threads_per_block) {
    throw Error(ErrorKind::Device,
                fmt::format("kernel '{}' asks for blocks of {} x {} x {} = {} threads; {} has at "
                            "most {} in a block",
                            kernel.name, shape.block[0], shape.block[1], shape.block[2], threads,
                            context_.title(), limits.threads_per_block));
  }
}

void CudaDevice::allow_shared(CudaFunction &function, std::int64_t bytes) const {
  const std::int64_t most = context_.properties().max_shared_bytes - function.static_shared_bytes;
  if (bytes > most) {
    throw Error(
        ErrorKind::Device,
        fmt::format("kernel '{}' asks for {} bytes of shared memory for each block, with "
                    "its static {} bytes; {} has at most {}. Smaller tiles in shared memory need "
                    "less",
                    function.name, bytes + function.static_shared_bytes,
                    function.static_shared_bytes, context_.title(),
                    context_.properties().max_shared_bytes));
  }
  context_.check(context_.functions().set_function_attribute(function.handle,
                                                             cuda::FunctionMaxDynamicSharedBytes,
                                                             static_cast<std::int32_t>(bytes)),
                 fmt::format("give kernel '{}' {} bytes of shared memory", function.name, bytes));
  function.allowed_shared_bytes.store(bytes, std::memory_order_relaxed);
}

void CudaDevice::launch(const DeviceKernel &kernel, const LaunchShape &shape,
                        const void *arguments) {
  const CudaContext::Scope scope(context_);
  for (int d = 0; d < 3; ++d) {
    if (shape.grid[d] <= 0 || shape.block[d] <= 0) {
      return;
    }
  }
  require_fits(kernel, shape);
  const CudaModules::Held held = modules_.hold(kernel);
  CudaFunction &function = held.function;
  if (shape.shared_bytes > function.allowed_shared_bytes.load(std::memory_order_relaxed)) {
    allow_shared(function, shape.shared_bytes);
  }
  // The driver takes as much of each argument as the kernel's PTX declares.
  constexpr std::int64_t usual = 64;
  void *few[usual];
  std::vector<void *> many;
  void **each = few;
  if (kernel.argument_count > usual) {
    many.resize(static_cast<std::size_t>(kernel.argument_count));
    each = many.data();
  }
  auto *slots = const_cast<char *>(static_cast<const char *>(arguments));
  for (std::int64_t a = 0; a < kernel.argument_count; ++a) {
    each[a] = slots + a * 8;
  }
  const cuda::Result result = context_.functions().launch(
      function.handle, static_cast<std::uint32_t>(shape.grid[0]),
      static_cast<std::uint32_t>(shape.grid[1]), static_cast<std::uint32_t>(shape.grid[2]),
      static_cast<std::uint32_t>(shape.block[0]), static_cast<std::uint32_t>(shape.block[1]),
      static_cast<std::uint32_t>(shape.block[2]), static_cast<std::uint32_t>(shape.shared_bytes),
      context_.stream(), each, nullptr);
  if (result != cuda::Success) {
    throw_launch_error(result, function, shape);
  }
  context_.note_launch(&function.name);
}

void CudaDevice::throw_launch_error(cuda::Result result, const CudaFunction &function,
                                    const LaunchShape &shape) const {
  std::string doing = fmt::format("launch kernel '{}' with {}", function.name, shape_text(shape));
  const std::int64_t threads = shape.block[0] * shape.block[1] * shape.block[2];
  if (result == cuda::OutOfResources || result == cuda::InvalidValue) {
    doing += fmt::format(", {} bytes of shared memory and {} registers a thread",
                         shape.shared_bytes + function.static_shared_bytes, function.registers);
    if (threads > function.max_threads) {
      doing += fmt::format(" (by its registers, its blocks have at most {} threads, not {})",
                           function.max_threads, threads);
    }
  }
  context_.check(result, doing);
  throw Error(ErrorKind::Device, "cannot " + doing);
}

} // namespace tilewright
