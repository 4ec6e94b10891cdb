#include "runtime/devices.h"

#include "polyhedral/error.h"
#include "runtime/cuda_device.h"
#include "runtime/gpu_emulator.h"

#include <fmt/format.h>

#include <charconv>
#include <string_view>

namespace tilewright {

Device &find_device(const std::string &name) {
  constexpr std::string_view cuda = "cuda";
  if (name == "gpu-emulator") {
    return gpu_emulator();
  }
  if (name == cuda) {
    return CudaDevice::get(0);
  }
  if (name.starts_with("cuda:")) {
    int number = 0;
    const char *end = name.data() + name.size();
    const auto [stop, problem] = std::from_chars(name.data() + cuda.size() + 1, end, number);
    if (problem == std::errc() && stop == end) {
      return CudaDevice::get(number);
    }
  }
  throw Error(ErrorKind::Argument,
              fmt::format("there is no device '{}'; devices are \"cuda\" (the first one), "
                          "\"cuda:1\" and so on, and \"gpu-emulator\"",
                          name));
}

std::string short_name(const Device &device) {
  const std::string name = device.name();
  return name.substr(0, name.find(' '));
}

} // namespace tilewright
