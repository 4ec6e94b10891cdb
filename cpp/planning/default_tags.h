// How a function runs to which nobody has given a command: the outermost loop that may be parallel
// is, where the work is worth the threads (asked at run time), the contiguous loop is a vector
// loop, reductions with such a loop are tiled so that their results stay in registers and what they
// read lies side by side, and transpositions are tiled. The number of lanes depends on the types
// alone, never on the machine, and so do all values. What is not legal is left out; what is left
// out runs as the default mapping has it.
#pragma once

#include "mapping/mapping.h"

#include <cstdint>

namespace tilewright {

struct DefaultSchedule {
  /// With the commands of the default schedule.
  Mapping mapping;
  /// Less work than this (loops/estimate_work.h) altogether is done sooner by the loops as they
  /// were; 0 where these are never faster.
  std::int64_t little = 0;
  /// That is work in one iteration of so many outermost loops: of one product of a batch.
  int around = 0;
};

/// `plain`, which is legal, with these tags. `wide`: there are 32 registers of 64 bytes.
DefaultSchedule with_default_tags(const Mapping &plain, bool wide);

} // namespace tilewright
