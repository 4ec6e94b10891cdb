// How large a buffer inside loops (store_at, cache) may be in each kind of memory. A schedule that
// asks for registers or the stack is promised them, so what does not fit is refused when the
// command is given.
#pragma once

#include "mapping/program.h"

#include <cstdint>
#include <optional>

namespace tilewright {

/// 64 vector registers of 512 bits: more would not stay in registers.
inline constexpr std::int64_t largest_register_buffer = 4 * 1024;
inline constexpr std::int64_t largest_stack_buffer = 256 * 1024;
/// What memory "auto" puts on the stack.
inline constexpr std::int64_t largest_automatic_stack_buffer = 32 * 1024;

/// The size of a buffer where it is a constant.
std::optional<std::int64_t> constant_bytes(const Buffer &buffer);

/// Throws Error(Schedule) where `buffer`, allocated by `allocation`, does not fit its memory.
void require_fits(const Buffer &buffer, const Allocation &allocation);

} // namespace tilewright
