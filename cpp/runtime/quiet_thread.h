// Threads of the library's own. They take no signals: those are for the threads of the program.
#pragma once

#include <cstddef>
#include <optional>
#include <pthread.h>

namespace tilewright {

/// Runs main(argument) in a thread that is to be joined or detached; nothing where no more are to
/// be had. `stack_bytes` 0 is the usual size.
std::optional<pthread_t> start_quiet_thread(void *(*main)(void *), void *argument,
                                            std::size_t stack_bytes = 0);

/// The same for one that nobody waits for; false where no more are to be had.
bool start_detached_thread(void *(*main)(void *), void *argument, std::size_t stack_bytes = 0);

/// What LLVM needs.
inline constexpr std::size_t compiler_stack_bytes = std::size_t{16} << 20;

} // namespace tilewright
