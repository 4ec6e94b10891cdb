// What the cache keeps of a kernel beside its code: the sites of its checks, which name arrays,
// accesses and instances in error messages, the loop nests whose time it takes, and how much the
// code was optimised.
#pragma once

#include "loops/loop_ir.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct KernelMetadata {
  std::vector<IndexSite> sites;
  std::vector<TimedNest> nests;
  bool is_full = false; ///< optimised in full
};

std::string encode_metadata(const KernelMetadata &metadata);
/// Nothing when `text` is not what encode_metadata writes.
std::optional<KernelMetadata> decode_metadata(const std::string &text);

} // namespace tilewright
