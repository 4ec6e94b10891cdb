// Commands that leave something to the library: resolved into commands that say it, which is what a
// schedule records.
#pragma once

#include "mapping/mapping.h"

#include <optional>

namespace tilewright {

/// Whether a command leaves something out that is found by asking which orders are legal.
bool needs_legal_order(const Command &command);

/// storage_fold(i) becomes storage_fold(i, d) with the smallest legal d; storage_fold() becomes
/// storage_fold([d0, d1, ...]), which folds each dimension of the buffer by the smallest number,
/// the outermost first (successive modulo); 0 stands for those that stay whole, because too much is
/// alive at one time. Other commands stay as they are.
Command resolve(const Mapping &mapping, const Command &command);

/// The smallest legal fold along the iterator that the command names, by what is alive at one time
/// (analysis/storage_conflicts.h); nothing when none up to a limit is legal.
std::optional<std::int64_t> smallest_fold(const Mapping &mapping, const Command &command);

} // namespace tilewright
