// A schedule is a value: the list of commands that were given, in order. It prints as the Python
// that makes it, compares, and replays on another function of the same shape. Names of commands are
// the papers' (Tiramisu, section 3.3).
#pragma once

#include "polyhedral/error.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace tilewright {

/// Iterator and computation names are strings, sizes integers; lists of names (for tile in three
/// dimensions) too.
using Argument =
    std::variant<std::int64_t, std::string, std::vector<std::string>, std::vector<std::int64_t>>;

struct Command {
  std::string computation;
  std::string name; ///< "tile", "parallelize", ...
  std::vector<Argument> arguments;
  SourceLocation where; ///< not compared

  bool operator==(const Command &other) const {
    return computation == other.computation && name == other.name && arguments == other.arguments;
  }
};

struct Schedule {
  std::vector<Command> commands;
  bool operator==(const Schedule &) const = default;
};

std::string to_string(const Command &command); ///< C.tile("i", "j", 64, 64)
std::string to_string(
    const Schedule &schedule); ///< one command a line, consecutive ones of a computation chained

} // namespace tilewright
