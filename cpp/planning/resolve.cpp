#include "planning/resolve.h"

#include "analysis/legality.h"
#include "analysis/storage_conflicts.h"
#include "mapping/command_table.h"

#include <isl/map.h>

#include <variant>
#include <vector>

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

/// Why even the largest fold is refused, with its dependence and two instances.
Error refusal_of_folds(const Mapping &mapping, const Command &command) {
  const Command largest = with_fold(command, largest_fold);
  std::optional<Violation> violation = find_violation(build_program(mapping.with(largest)));
  if (!violation) {
    throw Error(ErrorKind::Internal, to_string(largest) + " was refused and is legal now");
  }
  violation->explanation = "no fold of up to " + std::to_string(largest_fold) +
                           " elements is legal in this order; with " +
                           std::to_string(largest_fold) + ", " + violation->explanation;
  return refusal(*violation, &command);
}

/// The places of the computation's elements, where a dimension that is indexed as the one that is
/// to be folded stands once.
FoldQuestion question_of(const Mapping &mapping, const Command &command) {
  const Storage &storage = mapping.storage(command.computation);
  const auto &name = std::get<std::string>(command.arguments.front());
  FoldQuestion question{command.computation, storage.relation};
  bool found = false;
  for (size_t d = storage.index.size(); d-- > 0;) {
    if (storage.index[d]->kind != ExprKind::Iterator || storage.index[d]->name != name) {
      continue;
    }
    if (found) {
      const unsigned again = question.dimension;
      question.places =
          isl::manage(isl_map_project_out(question.places.release(), isl_dim_out, again, 1));
    }
    found = true;
    question.dimension = static_cast<unsigned>(d);
  }
  return question;
}

/// storage_fold(): each dimension, the outermost first.
Command folded_everywhere(const Mapping &mapping, const Command &command) {
  const Storage &storage = mapping.storage(command.computation);
  Command result = command;
  std::vector<std::int64_t> folds(storage.index.size(), 0);
  result.arguments = {folds};
  // As it is, and in memory of its own, not in that of an iteration.
  const Program program = build_program(mapping.with(result));
  for (size_t d = 0; d < folds.size(); ++d) {
    const isl::set distances =
        distances_of_lives(program, {command.computation, storage.relation,
                                     static_cast<unsigned>(d), Agreeing::Outer});
    folds[d] = smallest_modulus(distances, largest_fold).value_or(0);
  }
  result.arguments = {folds};
  return result;
}

} // namespace

std::optional<std::int64_t> smallest_fold(const Mapping &mapping, const Command &command) {
  const Program program = build_program(mapping.with(with_fold(command, 1)));
  return smallest_modulus(distances_of_lives(program, question_of(mapping, command)), largest_fold);
}

bool needs_legal_order(const Command &command) {
  return traits(command).completed &&
         (command.arguments.empty() || (command.arguments.size() == 1 &&
                                        std::holds_alternative<std::string>(command.arguments[0])));
}

Command resolve(const Mapping &mapping, const Command &command) {
  if (!needs_legal_order(command)) {
    return command;
  }
  if (command.arguments.empty()) {
    const bool is_known = mapping.state().time_space.contains(command.computation);
    return is_known ? folded_everywhere(mapping, command) : command;
  }
  const std::optional<std::int64_t> size = smallest_fold(mapping, command);
  if (!size) {
    throw refusal_of_folds(mapping, command);
  }
  return with_fold(command, *size);
}

} // namespace tilewright
