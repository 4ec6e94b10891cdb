// Commands that leave something to the library: resolved into commands that say it, which is what a
// schedule records.
#pragma once

#include "mapping/mapping.h"

#include <optional>

namespace tilewright {

/// Whether a command leaves something out that is found by asking which orders are legal.
bool needs_legal_order(const Command &command);

/// storage_fold(i) becomes storage_fold(i, d) with the smallest legal d; other commands stay as
/// they are.
Command resolve(const Mapping &mapping, const Command &command);

/// The smallest legal fold along `iterator`, found by trying 1, 2, 3, ...; nothing when none up to
/// a limit is legal.
std::optional<std::int64_t> smallest_fold(const Mapping &mapping, const Command &command);

} // namespace tilewright
