// Devices by the names that people give them.
#pragma once

#include "runtime/device.h"

#include <string>

namespace tilewright {

/// "cuda" (the first one), "cuda:1", "gpu-emulator". Throws Error(Argument) for another name, and
/// Error(Device) where there is no such device.
Device &find_device(const std::string &name);

/// The name by which find_device finds it.
std::string short_name(const Device &device);

} // namespace tilewright
