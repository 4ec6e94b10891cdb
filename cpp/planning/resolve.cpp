#include "planning/resolve.h"

#include "analysis/legality.h"
#include "mapping/command_table.h"

namespace tilewright {

std::optional<std::int64_t> smallest_fold(const Mapping &mapping, const Command &command) {
  constexpr std::int64_t largest = 64;
  for (std::int64_t size = 1; size <= largest; ++size) {
    Command candidate = command;
    candidate.arguments.resize(1);
    candidate.arguments.emplace_back(size);
    if (!find_violation(build_program(mapping.with(candidate)))) {
      return size;
    }
  }
  return std::nullopt;
}

Command resolve(const Mapping &mapping, const Command &command) {
  if (!traits(command).completed || command.arguments.size() != 1) {
    return command;
  }
  const std::optional<std::int64_t> size = smallest_fold(mapping, command);
  if (!size) {
    throw Error(ErrorKind::IllegalSchedule,
                to_string(command) + ": no fold of up to 64 elements is legal in this order",
                command.where);
  }
  Command resolved = command;
  resolved.arguments.emplace_back(*size);
  return resolved;
}

} // namespace tilewright
