// What a kernel is asked to watch beside its work: that every access stays inside its memory, which
// instance first gives a NaN, how long each loop nest takes. Part of the options of a compilation,
// and so of its cache key.
#pragma once

#include <string>

namespace tilewright {

struct Instrumentation {
  bool bounds = false;     ///< every read and write is checked against the extents of its buffer
  bool values = false;     ///< instances that are NaN though nothing they read is end the kernel
  bool infinities = false; ///< values: infinities count as NaN does
  std::string computation = {}; ///< values: of this computation alone; empty: of all
  bool times = false;           ///< the time of each outermost loop nest is added up

  /// Loops run in the order of the schedule in one thread, so that the first instance is found.
  bool is_serial() const { return values; }
  bool operator==(const Instrumentation &) const = default;
};

} // namespace tilewright
