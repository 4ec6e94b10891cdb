// The GPU emulator (runtime/gpu_emulator.h): launches become functions of the host's module, one
// call for each thread, in which every access tells the emulator first.
#pragma once

#include "targets/target.h"

namespace tilewright {

const Target &emulator_target();

} // namespace tilewright
