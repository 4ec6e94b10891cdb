#include "runtime/device_memory.h"

#include <exception>

namespace tilewright {

void DeviceMemory::use() {
  std::shared_ptr<void> here = device_.place();
  const std::lock_guard lock(mutex_);
  if (here != place_) {
    device_.wait_for(place_);
    place_ = std::move(here);
  }
}

DeviceMemory::~DeviceMemory() {
  try {
    use();
  } catch (const std::exception &) {
    // The device is lost, and its memory with it.
  }
  if (!is_view_) {
    device_.release(data_);
  }
}

} // namespace tilewright
