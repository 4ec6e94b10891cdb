// The threads that parallel loops run on. A region is cut into parts, and each part into pieces. A
// part belongs to one thread (part 0 to the caller, part k to worker k), which takes its pieces
// from the front when it gets to it; a thread that has nothing left to do takes pieces of others
// from the back. So equal regions put equal parts on equal threads as long as the machine has time
// for them, a region never waits for a thread that sleeps, and one that loses its processor holds
// up a piece. Workers look for work for some microseconds after the last region and then sleep
// until the next. A child of fork starts with workers of its own.
#pragma once

namespace tilewright {

/// At most so many parts in one region, and pieces in one part.
inline constexpr int max_parts = 1024;
inline constexpr int max_pieces = 255;

/// Runs work(argument, part, piece) once for each part in [0, parts) and piece in [0, pieces) and
/// returns when all are done. While the caller has nothing to do but to wait, it calls
/// waiting(argument) every ten milliseconds. May be called from any thread outside of regions; when
/// several regions are in flight already, the caller does all of it itself. Neither function may
/// throw.
void run_on_pool(int parts, int pieces, void (*work)(void *argument, int part, int piece),
                 void (*waiting)(void *argument), void *argument);

} // namespace tilewright
