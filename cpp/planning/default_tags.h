// How a function runs to which nobody has given a command: the outermost loop that may be parallel
// is, where the work is worth the threads (asked at run time), the contiguous loop is a vector
// loop, reductions with such a loop are tiled so that their results stay in registers and what they
// read lies side by side, and transpositions are tiled. The number of lanes depends on the types
// alone, never on the machine, and so do all values. What is not legal is left out; what is left
// out runs as the default mapping has it.
#pragma once

#include "mapping/mapping.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

/// What is worth several threads, in estimated work (loops/estimate_work.h): some ten microseconds,
/// several times what it takes to wake them.
inline constexpr std::int64_t least_work_for_threads = 60'000;

/// `plain`, which is legal, with these tags, and with what is too little work for them (when_work).
/// `wide`: there are 32 registers of 64 bytes. `folds`: recurrences keep as many of their steps as
/// are needed at one time (kept_steps.h).
Mapping with_default_tags(const Mapping &plain, bool wide, bool folds);

/// `given`, which is legal and somebody's schedule of everything but these computations, with tags
/// of theirs. They run on threads if something of `given` does.
Mapping with_tags_of_parts(const Mapping &given, const std::vector<std::string> &parts, bool wide);

} // namespace tilewright
