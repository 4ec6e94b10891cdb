// The body of one vector loop for all of its lanes at once: variables become ramps, values vectors,
// what only some lanes do is masked. What has no vector form (memory of each lane's own, a while
// loop, atomic updates, a value carried from lane to lane) is refused, and the loop stays a loop.
#pragma once

#include "loops/traverse.h"

namespace tilewright {

struct VectorOptions {
  /// The smallest element, in bytes, that the target loads and stores under a mask in one step; 0
  /// where it has no masks. Smaller elements keep what is masked serial.
  int masked_bytes = 0;
};

/// The body of `loop`, which has `lanes` iterations, or fewer when it is `partial`; null when there
/// is no vector form. Vector loops inside that have a constant number of iterations widen the
/// vectors: `lanes` times that many lanes, the inner loop's next to each other.
StmtPtr vector_body(const For &loop, int lanes, bool partial, const VectorOptions &options,
                    Numbers &numbers);

} // namespace tilewright
