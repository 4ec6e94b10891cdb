// What isl's own count of operations leaves out. isl counts allocations and pivots, and looks for
// its limit there alone; coefficients may grow to millions of bits between two of them. With
// Polly's isl the linker puts functions of ours around isl's allocations and the arithmetic on
// large numbers (cmake/TilewrightISL.cmake): they charge that arithmetic to the limit in force, and
// let signal handlers run in the middle of what takes long.
#pragma once

#include <cstdint>

namespace tilewright {

/// Whether arithmetic on large numbers has passed the limit. What isl answers then is worth
/// nothing: the numbers are left out, so that it ends soon.
extern bool isl_work_is_spent;

/// Begins to charge against `operations`.
void begin_isl_work(std::uint64_t operations);

/// Makes `attend` be called, soon, by isl's work or by check_interruption(), in the thread that has
/// isl's lock if one has it. May be called in a signal handler.
void request_attention() noexcept;
void set_attention(void (*attend)());
/// Calls it, where it was asked for.
void give_attention();

} // namespace tilewright
