// When compiled code leaves memory. Who remembers something by an address of compiled code asks
// whether code was dropped since: another kernel may be at the same address then.
#pragma once

#include <atomic>
#include <cstdint>

namespace tilewright {

/// How many times code was taken out of memory. It changes before the memory is used again.
inline std::atomic<std::uint64_t> dropped_code{0};

} // namespace tilewright
