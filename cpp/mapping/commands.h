// The commands of Layers II and III, each a small change of a MappingState. A command whose
// arguments do not make sense throws Error(Schedule) with the command's text, what was expected and
// what was given.
#pragma once

#include "mapping/mapping.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Applies one command; the state is in an unspecified condition after a throw (work on a copy).
void apply_command(MappingState &state, const Command &command);

/// The split that a vectorize of a longer loop makes before it tags the inner one, where that keeps
/// the order (mapping.h: keeps_order): what is left is the question whether the inner loop may be a
/// vector loop.
std::optional<Command> split_before_tag(const Mapping &mapping, const Command &command);

/// Names of all commands, for error messages and completeness tests.
std::vector<std::string> command_names();

} // namespace tilewright
