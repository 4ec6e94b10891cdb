#include "bindings/device_copy.h"

#include <cstring>
#include <functional>
#include <numeric>

namespace tilewright {

DeviceCopy::DeviceCopy(Device &device, const BoundArray &array, int item_size)
    : device_(device), array_(array), item_size_(item_size),
      bytes_(std::accumulate(array.dimensions, array.dimensions + array.nd,
                             static_cast<std::int64_t>(item_size), std::multiplies<>())),
      memory_(device.allocate(bytes_)) {}

void DeviceCopy::copy_in() {
  if (is_row_major()) {
    device_.copy_in(memory_, array_.data, bytes_);
    return;
  }
  std::vector<char> packed(static_cast<size_t>(bytes_));
  walk(packed.data(), [&](char *own, const char *theirs) {
    std::memcpy(own, theirs, static_cast<size_t>(item_size_));
  });
  device_.copy_in(memory_, packed.data(), bytes_);
}

void DeviceCopy::copy_out() {
  if (is_row_major()) {
    device_.copy_out(array_.data, memory_, bytes_);
    return;
  }
  std::vector<char> packed(static_cast<size_t>(bytes_));
  device_.copy_out(packed.data(), memory_, bytes_);
  walk(packed.data(), [&](const char *own, char *theirs) {
    std::memcpy(theirs, own, static_cast<size_t>(item_size_));
  });
}

bool DeviceCopy::is_row_major() const {
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
void DeviceCopy::walk(char *own, const Visit &visit) const {
  if (bytes_ == 0) {
    return;
  }
  std::vector<std::int64_t> index(static_cast<size_t>(array_.nd), 0);
  char *theirs = array_.data;
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

} // namespace tilewright
