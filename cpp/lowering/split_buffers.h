// Loops of which isl has made two, though a buffer lives in each of their iterations.
#pragma once

#include "loops/loop_ir.h"

#include <cstdint>
#include <optional>

namespace tilewright {

/// A buffer that is read, or added to, where its memory was made anew since it got a first value:
/// the iterations in which it lives were split over several loops. Nothing where that is so of
/// none.
std::optional<std::int64_t> first_split_buffer(const Kernel &kernel);

} // namespace tilewright
