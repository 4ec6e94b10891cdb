#include "planning/resolve.h"

#include "analysis/legality.h"
#include "mapping/command_table.h"

namespace tilewright {

namespace {

constexpr std::int64_t largest_fold = 64;

/// The command with a fold of so many elements.
Command with_fold(const Command &command, std::int64_t size) {
  Command result = command;
  result.arguments.resize(1);
  result.arguments.emplace_back(size);
  return result;
}

/// What is wrong with it.
std::optional<Violation> wrong_with(const Mapping &mapping, const Command &fold) {
  return find_violation(build_program(mapping.with(fold)));
}

/// Why even the largest fold is refused, with its dependence and two instances.
Error refusal_of_folds(const Mapping &mapping, const Command &command) {
  const Command largest = with_fold(command, largest_fold);
  std::optional<Violation> violation = wrong_with(mapping, largest);
  if (!violation) {
    throw Error(ErrorKind::Internal, to_string(largest) + " was refused and is legal now");
  }
  violation->explanation = "no fold of up to " + std::to_string(largest_fold) +
                           " elements is legal in this order; with " +
                           std::to_string(largest_fold) + ", " + violation->explanation;
  return refusal(*violation, &command);
}

} // namespace

std::optional<std::int64_t> smallest_fold(const Mapping &mapping, const Command &command) {
  for (std::int64_t size = 1; size <= largest_fold; ++size) {
    if (!wrong_with(mapping, with_fold(command, size))) {
      return size;
    }
  }
  return std::nullopt;
}

bool needs_legal_order(const Command &command) {
  return traits(command).completed && command.arguments.size() == 1;
}

Command resolve(const Mapping &mapping, const Command &command) {
  if (!needs_legal_order(command)) {
    return command;
  }
  const std::optional<std::int64_t> size = smallest_fold(mapping, command);
  if (!size) {
    throw refusal_of_folds(mapping, command);
  }
  return with_fold(command, *size);
}

} // namespace tilewright
