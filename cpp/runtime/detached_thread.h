// Threads that nobody waits for. They take no signals: those are for the threads of the program.
#pragma once

#include <cstddef>

namespace tilewright {

/// Runs main(argument) in a thread of its own; false where no more are to be had. `stack_bytes` 0
/// is the usual size.
bool start_detached_thread(void *(*main)(void *), void *argument, std::size_t stack_bytes = 0);

/// What LLVM needs.
inline constexpr std::size_t compiler_stack_bytes = std::size_t{16} << 20;

} // namespace tilewright
