// Calls of functions whose loops run on a GPU. NumPy's arrays are copied to the device, row by row,
// and what was written is copied back; elements of an output that the function does not define keep
// what they had.
#include "bindings/call_errors.h"
#include "bindings/kernel_call.h"
#include "runtime/cuda_device.h"
#include "runtime/device.h"
#include "runtime/gpu_emulator.h"
#include "targets/nvptx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace tilewright {

namespace py = pybind11;

namespace {

/// An array of the call in row-major order in device memory, which it owns.
class DeviceCopy {
public:
  DeviceCopy(Device &device, const BoundArray &array, int item_size)
      : device_(device), array_(array), item_size_(item_size),
        bytes_(std::accumulate(array.dimensions, array.dimensions + array.nd,
                               static_cast<std::int64_t>(item_size), std::multiplies<>())),
        memory_(device.allocate(bytes_)) {}
  ~DeviceCopy() { device_.release(memory_); }
  DeviceCopy(const DeviceCopy &) = delete;
  DeviceCopy &operator=(const DeviceCopy &) = delete;

  void *memory() const { return memory_; }

  void copy_in() {
    if (is_row_major()) {
      device_.copy_in(memory_, array_.data, bytes_);
      return;
    }
    std::vector<char> packed(static_cast<size_t>(bytes_));
    walk(packed.data(), [&](char *own, char *theirs) {
      std::memcpy(own, theirs, static_cast<size_t>(item_size_));
    });
    device_.copy_in(memory_, packed.data(), bytes_);
  }

  void copy_out() {
    if (is_row_major()) {
      device_.copy_out(array_.data, memory_, bytes_);
      return;
    }
    std::vector<char> packed(static_cast<size_t>(bytes_));
    device_.copy_out(packed.data(), memory_, bytes_);
    walk(packed.data(), [&](char *own, char *theirs) {
      std::memcpy(theirs, own, static_cast<size_t>(item_size_));
    });
  }

  /// Appends the strides of the copy, in bytes.
  void add_strides(std::vector<std::int64_t> &integers) const {
    const size_t first = integers.size();
    integers.resize(first + static_cast<size_t>(array_.nd));
    std::int64_t stride = item_size_;
    for (int d = array_.nd; d-- > 0;) {
      integers[first + static_cast<size_t>(d)] = stride;
      stride *= std::max<std::int64_t>(array_.dimensions[d], 1);
    }
  }

private:
  bool is_row_major() const {
    std::int64_t stride = item_size_;
    for (int d = array_.nd; d-- > 0;) {
      if (array_.dimensions[d] > 1 && array_.strides[d] != stride) {
        return false;
      }
      stride *= array_.dimensions[d];
    }
    return true;
  }

  /// visit(element of the copy, element of the array) in row-major order.
  template <class Visit>
  void walk(char *own, const Visit &visit) const {
    if (bytes_ == 0) {
      return;
    }
    std::vector<std::int64_t> index(static_cast<size_t>(array_.nd), 0);
    auto *theirs = static_cast<char *>(array_.data);
    for (;;) {
      visit(own, theirs);
      own += item_size_;
      int d = array_.nd;
      while (d-- > 0) {
        auto &position = index[static_cast<size_t>(d)];
        theirs += array_.strides[d];
        if (++position < array_.dimensions[d]) {
          break;
        }
        theirs -= array_.strides[d] * position;
        position = 0;
      }
      if (d < 0) {
        return;
      }
    }
  }

  Device &device_;
  const BoundArray &array_;
  int item_size_;
  std::int64_t bytes_;
  void *memory_;
};

} // namespace

Device &KernelFunction::device_of(CompileOptions &options) const {
  if (options.gpu.kind == GpuTarget::Kind::Emulator) {
    return gpu_emulator();
  }
  try {
    CudaDevice &device = CudaDevice::get(0);
    const CudaProperties &has = device.context().properties();
    options.gpu.architecture = supported_architecture(10 * has.major + has.minor);
    if (options.gpu.architecture == 0) {
      throw Error(ErrorKind::Device,
                  fmt::format("{} has compute capability {}.{}, and kernels need {}.{} or newer",
                              device.name(), has.major, has.minor, oldest_architecture / 10,
                              oldest_architecture % 10));
    }
    return device;
  } catch (Error &error) {
    Error more(error.kind,
               fmt::format("{}: its loops are mapped to a GPU: {}; target=\"gpu-emulator\" runs "
                           "them on the host, target=\"cpu\" as loops of the CPU",
                           function_->name, error.what()));
    more.details = error.details;
    throw more;
  }
}

py::object KernelFunction::call_on_device(const CallArguments &given) {
  BoundCall call;
  bind_arguments(given, call);
  solve_shapes(call);
  if (overwrites_) {
    place_in_inputs(call);
  }
  require_apart_in_themselves(call);
  make_outputs(call, false);
  CompileOptions options = default_options();
  Device &device = device_of(options);
  const Layouts layouts(options.layouts.begin(), options.layouts.end());
  std::shared_ptr<const CompiledKernel> kernel = find_kernel(layouts, {});
  if (kernel == nullptr) {
    kernel = make_kernel(layouts, {});
  }
  std::int32_t status = KernelOk;
  CallRecord record;
  {
    const py::gil_scoped_release unlocked;
    std::vector<std::unique_ptr<DeviceCopy>> copies;
    std::vector<void *> data;
    std::vector<std::int64_t> integers(call.parameters.begin(), call.parameters.end());
    for (size_t i = 0; i < arguments_.size(); ++i) {
      copies.push_back(
          std::make_unique<DeviceCopy>(device, call.arrays[i], arguments_[i].item_size));
      DeviceCopy &copy = *copies.back();
      const bool is_alias = stored_in_[i] >= 0;
      if (!is_alias && (i < inputs_ || arguments_[i].needs_zeros)) {
        copy.copy_in();
      }
      data.push_back(is_alias ? data[static_cast<size_t>(stored_in_[i])] : copy.memory());
      copy.add_strides(integers);
    }
    DeviceCall on_device(device);
    record.device = &on_device;
    status = kernel->entry()(data.data(), integers.data(), &record);
    status = on_device.finish(status, record.failure, !kernel->sites.empty(), true);
    for (size_t i = 0; i < arguments_.size() && status == KernelOk; ++i) {
      if (overwritten_[i] || (i >= inputs_ && stored_in_[i] < 0)) {
        copies[i]->copy_out();
      }
    }
  }
  if (status != KernelOk) {
    CallExplainer(*this).failed(*kernel, status, record.failure,
                                status == KernelIndexError && !overwrites_ ? failing_read(call)
                                                                           : std::nullopt);
  }
  return results(call);
}

} // namespace tilewright
