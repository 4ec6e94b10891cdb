// The memory of kernels' temporaries. Small blocks come from the C library. Blocks of a megabyte or
// more are kept when they are freed, for the next call: fresh pages cost a fault each, more than
// most kernels do with them. What is kept is bounded, and the blocks that were freed first are
// given back to the system first. From 2 MiB on, huge pages are asked for. All of it is
// thread-safe, and a child of fork may go on with what its parent had.
#pragma once

#include "runtime/abi.h"

#include <cstddef>

namespace tilewright {

/// The bytes that may be kept: 512 MiB, or TILEWRIGHT_KEEP_MEMORY (MiB; 0 keeps nothing), but never
/// more than a quarter of the machine's memory.
std::size_t kept_memory_limit();

/// Sets it for this process, and gives back at once what is above.
void set_kept_memory_limit(std::size_t bytes);

/// The bytes that are kept now: of blocks that no kernel uses.
std::size_t kept_memory();

/// Gives back all that is kept.
void release_memory();

} // namespace tilewright
