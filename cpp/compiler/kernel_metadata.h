// The description that stands beside the machine code in a cache entry: what a caller needs besides
// the entry point.
#pragma once

#include "lowering/loop_ir.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

std::string encode_sites(const std::vector<IndexSite> &sites);
/// Nothing when the text is not one that encode_sites wrote.
std::optional<std::vector<IndexSite>> decode_sites(const std::string &text);

} // namespace tilewright
