// How a function runs to which nobody has given a command: the outermost loop that may be parallel
// is, where the work is worth the threads (asked at run time), the contiguous loop is a vector
// loop, and reductions with such a loop are tiled so that their results stay in registers. The
// widths depend on the types alone, never on the machine. What is not legal is left out; what is
// left out runs as the default mapping has it.
#pragma once

#include "mapping/mapping.h"

namespace tilewright {

/// `plain`, which is legal, with these tags.
Mapping with_default_tags(const Mapping &plain);

} // namespace tilewright
