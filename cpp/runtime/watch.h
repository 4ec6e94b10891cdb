// What instrumented kernels tell their caller: the first failed check, with the instance that met
// it, and the time of each loop nest.
#pragma once

#include "runtime/abi.h"

#include <cstdint>

extern "C" {
/// The first of all threads fills the record; the others change nothing.
void tilewright_report_check(tilewright::KernelFailure *failure, std::int64_t site,
                             std::int64_t value, std::int64_t extent, const std::int64_t *reports,
                             std::int64_t count);
std::int64_t tilewright_clock(); ///< nanoseconds
/// Adds the time since `start` to that of a nest.
void tilewright_add_time(tilewright::KernelFailure *failure, std::int64_t nest, std::int64_t start);
}
