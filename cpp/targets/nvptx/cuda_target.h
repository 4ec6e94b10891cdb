// NVIDIA's GPUs: launches become PTX, which the driver compiles for the device that it finds; the
// host's code around them is the CPU's.
#pragma once

#include "targets/target.h"

namespace tilewright {

const Target &cuda_target();

} // namespace tilewright
