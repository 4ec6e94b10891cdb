// How many threads this process is meant to use: what its environment asks for, else the processors
// that it may run on and the share of their time that its control group grants. Containers limit
// the latter, not the former: a pool of a thread for each processor of the machine would spend most
// of its time stopped by the scheduler.
#pragma once

#include <optional>
#include <string>

namespace tilewright {

/// TILEWRIGHT_NUM_THREADS, else OMP_NUM_THREADS, else the processors of the affinity mask, no more
/// than the control group's limit rounded up. Asked once, and again in a child of fork.
int environment_threads();

/// The processors' worth of time that the control groups of this process grant (cpu.max of version
/// 2, cpu.cfs_quota_us of version 1; the least of the group's own and those above it); nothing
/// where there is no limit. `root` stands before the names of the files read, for tests.
std::optional<double> control_group_processors(const std::string &root = "");

} // namespace tilewright
