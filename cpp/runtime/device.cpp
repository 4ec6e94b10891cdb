#include "runtime/device.h"

#include "polyhedral/error.h"

#include <algorithm>

namespace tilewright {

void Device::copy_in_rows(void *device, std::int64_t device_pitch, const void *host,
                          std::int64_t host_pitch, std::int64_t bytes, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    copy_in(static_cast<char *>(device) + r * device_pitch,
            static_cast<const char *>(host) + r * host_pitch, bytes);
  }
}

void Device::copy_out_rows(void *host, std::int64_t host_pitch, const void *device,
                           std::int64_t device_pitch, std::int64_t bytes, std::int64_t rows) {
  for (std::int64_t r = 0; r < rows; ++r) {
    copy_out(static_cast<char *>(host) + r * host_pitch,
             static_cast<const char *>(device) + r * device_pitch, bytes);
  }
}

namespace {

/// The record of the call whose launch this thread makes.
CallRecord *&launching() {
  static thread_local CallRecord *record = nullptr;
  return record;
}

} // namespace

bool launch_is_to_end() {
  return launching() != nullptr && tilewright_poll(launching()) != KernelOk;
}

DeviceCall::DeviceCall(Device &device, bool may_fail) : device_(device) {
  if (may_fail) {
    failure_ = device.allocate(sizeof(DeviceFailure));
    try {
      device_.clear(failure_, sizeof(DeviceFailure));
    } catch (...) {
      device_.release(failure_);
      throw;
    }
  }
}

DeviceCall::~DeviceCall() {
  for (void *memory : memory_) {
    device_.release(memory);
  }
  if (failure_ != nullptr) {
    device_.release(failure_);
  }
}

std::int32_t DeviceCall::finish(std::int32_t status, KernelFailure &record, bool may_fail,
                                bool waits) {
  if (problem_) {
    std::rethrow_exception(problem_);
  }
  if (waits) {
    device_.synchronize();
  }
  if (!may_fail || status != KernelOk) {
    return status;
  }
  DeviceFailure found;
  device_.copy_out(&found, failure_, sizeof(found));
  if (found.status != KernelOk) {
    record.site = found.site;
    record.value = found.value;
    record.extent = found.extent;
  }
  return found.status;
}

std::int32_t DeviceCall::launch(const DeviceKernel &kernel, const LaunchShape &shape,
                                const void *arguments) noexcept {
  try {
    device_.launch(kernel, shape, arguments);
    if (waits_) {
      device_.synchronize();
    }
    return KernelOk;
  } catch (const LaunchInterrupted &) {
    return KernelInterrupted;
  } catch (...) {
    problem_ = std::current_exception();
    return KernelDeviceError;
  }
}

void *DeviceCall::allocate(std::int64_t bytes) noexcept {
  try {
    void *memory = device_.allocate(bytes);
    memory_.push_back(memory);
    return memory;
  } catch (...) {
    problem_ = std::current_exception();
    return nullptr;
  }
}

void DeviceCall::release(void *memory) noexcept {
  const auto known = std::find(memory_.begin(), memory_.end(), memory);
  if (known != memory_.end()) {
    memory_.erase(known);
    device_.release(memory);
  }
}

} // namespace tilewright

std::int32_t tilewright_launch(tilewright::CallRecord *record,
                               const tilewright::DeviceKernel *kernel,
                               const tilewright::LaunchShape *shape, const void *arguments) {
  tilewright::launching() = record;
  const std::int32_t status = record->device->launch(*kernel, *shape, arguments);
  tilewright::launching() = nullptr;
  return status;
}

void *tilewright_device_allocate(tilewright::CallRecord *record, std::int64_t bytes) {
  return record->device->allocate(bytes);
}

void tilewright_device_free(tilewright::CallRecord *record, void *memory) {
  if (memory != nullptr) {
    record->device->release(memory);
  }
}

void *tilewright_device_failure(tilewright::CallRecord *record) {
  return record->device->failure();
}
