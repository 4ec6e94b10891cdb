// Parallel loops of compiled code: on a pool of threads of our own (thread_pool.h), or, where the
// environment says TILEWRIGHT_THREADS=openmp, on the OpenMP runtime that is already in the process
// (else LLVM's, else GNU's), without linking to any vendor's library. Nested loops run in the
// thread that meets them. A child of fork keeps working.
#pragma once

#include "runtime/abi.h"

#include <cstdint>
#include <string>

namespace tilewright {

/// How many threads a parallel loop uses where its call does not say: set_num_threads, else
/// environment_threads().
int num_threads();

/// 0 goes back to the environment's answer. Throws Error(Argument) for a negative number.
void set_num_threads(int count);

/// What runs the loops: "threads", or the path of the OpenMP library.
std::string parallel_runtime();

} // namespace tilewright

extern "C" {
/// Fills the record of a failed subscript check; whole even when several threads fail at once.
void tilewright_report_index(tilewright::KernelFailure *failure, std::int64_t site,
                             std::int64_t value, std::int64_t extent);
}
