// What a program's context says of each parameter alone, for the passes that reason with intervals.
#pragma once

#include "loops/linear.h"
#include "mapping/program.h"

namespace tilewright {

Ranges parameter_ranges(const Program &program);

} // namespace tilewright
