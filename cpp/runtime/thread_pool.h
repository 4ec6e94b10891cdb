// The threads that parallel loops run on. A region is cut into parts; each part belongs to one
// thread (part 0 to the caller, part k to worker k), which takes it when it gets to it; a part that
// its thread has not begun when another thread has nothing left to do goes to that one. So equal
// regions put equal parts on equal threads as long as the machine has time for them, and a region
// never waits for a thread that sleeps. Workers look for work for some microseconds after the last
// region and then sleep until the next. A child of fork starts with workers of its own.
#pragma once

namespace tilewright {

/// At most so many parts in one region.
inline constexpr int max_parts = 1024;

/// Runs work(argument, part) once for each part in [0, parts) and returns when all are done. May be
/// called from any thread outside of regions; when several regions are in flight already, the
/// caller does all of its parts itself. `work` must not throw.
void run_on_pool(int parts, void (*work)(void *argument, int part), void *argument);

} // namespace tilewright
