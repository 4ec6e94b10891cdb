// NVIDIA's GPUs: launches become PTX, which the driver compiles for the device that it finds; the
// host's code around them is the CPU's.
#pragma once

#include "targets/llvm/device_program.h"
#include "targets/target.h"

namespace tilewright {

const Target &cuda_target();

/// PTX and launches of a kernel that has them, for host code that is not ours. Throws as
/// Target::emit.
DeviceProgram cuda_program(const Kernel &kernel, const TargetOptions &options);

} // namespace tilewright
