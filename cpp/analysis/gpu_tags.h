// What the tags of one statement's loops say of it in a GPU's kernel.
#pragma once

#include "mapping/program.h"

#include <algorithm>
#include <cstddef>
#include <optional>

namespace tilewright {

/// The level of the loop over threads of an axis.
inline std::optional<size_t> thread_level(const Statement &statement, int axis) {
  for (size_t level = 0; level < statement.loop_names.size(); ++level) {
    const LoopTag &tag = statement.tags[level];
    if (tag.tag == Tag::GpuThread && tag.axis == axis) {
      return level;
    }
  }
  return std::nullopt;
}

/// Whether one of its loops is dealt out to all threads.
inline bool has_spread(const Statement &statement) {
  return std::any_of(statement.tags.begin(),
                     statement.tags.begin() +
                         static_cast<std::ptrdiff_t>(statement.loop_names.size()),
                     [](const LoopTag &tag) { return tag.tag == Tag::GpuSpread; });
}

} // namespace tilewright
