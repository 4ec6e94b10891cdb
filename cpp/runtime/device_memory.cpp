#include "runtime/device_memory.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace tilewright {

void DeviceMemory::use() {
  std::shared_ptr<void> here = device_.place();
  const std::lock_guard lock(mutex_);
  if (here != place_) {
    device_.wait_for(place_);
    place_ = std::move(here);
  }
  while (!others_.empty()) {
    device_.wait_for(others_.back());
    others_.pop_back();
  }
}

void DeviceMemory::used() {
  std::shared_ptr<void> here = device_.place();
  const std::lock_guard lock(mutex_);
  if (here != place_ && std::find(others_.begin(), others_.end(), here) == others_.end()) {
    others_.push_back(std::move(here));
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
