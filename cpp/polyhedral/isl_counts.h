// How much isl has done so far, for tests that count what time would only show now and then.
#pragma once

#include <cstdint>

namespace tilewright {

/// isl's allocations since the process began, which grow with whatever is asked of it. 0 unless isl
/// is the one that the linker wraps (isl_work.h).
std::uint64_t isl_allocations() noexcept;

} // namespace tilewright
