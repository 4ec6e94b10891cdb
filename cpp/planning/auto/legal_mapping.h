// What planners pass from one step to the next: a mapping that was found legal, with its program,
// so that the next question is about what a step changes.
#pragma once

#include "analysis/unchanged.h"
#include "planning/auto/decision.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// A mapping that was found legal.
struct LegalMapping {
  Mapping mapping;
  std::shared_ptr<const LegalProgram> legal;
};

/// Where values of the iterations of a computation's outermost loop, or of another one, are not
/// needed for long, `before` with memory for so many of them as are; else `before`.
LegalMapping with_folded_storage(const LegalMapping &before, const std::string &computation,
                                 const std::string &iterator, Decisions &decisions);

/// What asking about a candidate may take of isl.
inline constexpr std::uint64_t candidate_operation_limit = 20'000'000;

/// The program of a mapping that commands make of `before`, if it is legal; nothing where one of
/// them is refused or isl needs too long.
std::optional<LegalMapping> after_commands(const LegalMapping &before,
                                           const std::vector<Command> &commands,
                                           std::uint64_t operations = candidate_operation_limit);

} // namespace tilewright
