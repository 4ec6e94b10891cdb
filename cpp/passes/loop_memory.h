// What a loop changes that nothing outside of it reads.
#pragma once

#include "loops/loop_ir.h"
#include "passes/kept_scalars.h"

#include <cstdint>
#include <map>
#include <set>

namespace tilewright {

/// Of the memory that the kernel itself makes: arguments belong to the caller.
struct LoopMemory {
  std::set<std::int64_t> own;         ///< read in the loop only
  std::set<std::int64_t> scalars;     ///< of one element, that a statement in the loop sets
  std::set<std::int64_t> temporaries; ///< those that each iteration sets before it reads them
};

/// Finds it for the loops of one kernel, which must outlive it.
class LoopMemories {
public:
  explicit LoopMemories(const Kernel &kernel);

  LoopMemory of(const For &loop) const;

private:
  const Kernel &kernel_;
  std::map<std::int64_t, int> reads_; ///< how often each buffer is read
  KeptScalars kept_;
};

} // namespace tilewright
