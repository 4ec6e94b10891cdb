// split(i, s) with a size s that is an expression in parameters, as N // 4: blocks of max(1, s)
// iterations. The number of blocks must be a small constant, as the loops are made case by case.
#pragma once

#include "mapping/command_arguments.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tilewright {

inline constexpr std::int64_t most_blocks_of_parameters = 16;

/// The loop over blocks and the loop in a block, without names. Nothing if what is known of
/// parameters makes the size one `number`.
std::optional<std::pair<LoopDimension, LoopDimension>>
stripmined_by_parameters(const MappingState &state, const Command &command,
                         const LoopDimension &loop, const std::string &text, std::int64_t &number);

} // namespace tilewright
