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

/// One command of a computation or of the whole function. A transaction is a command, too: it gives
/// others, one after the other, and what they make is checked once, at its end.
struct Command {
  std::string computation; ///< empty: the whole function
  std::string name;        ///< "tile", "parallelize", ...
  std::vector<Argument> arguments;
  SourceLocation where;               ///< not compared
  std::vector<Command> commands = {}; ///< of a transaction

  bool operator==(const Command &other) const {
    return computation == other.computation && name == other.name && arguments == other.arguments &&
           commands == other.commands;
  }
};

/// Whether a command, or one within it, speaks of a computation.
bool mentions(const Command &command, const std::string &computation);

/// The name of a command that is a transaction: it has commands, and no arguments.
inline constexpr const char *transaction_name = "transaction";

Command transaction_of(std::vector<Command> commands, const SourceLocation &where);

struct Schedule {
  std::vector<Command> commands;
  bool operator==(const Schedule &) const = default;
};

/// Calls `visit` with each command, and with those of transactions instead of these.
template <class Visit>
void for_each_command(const std::vector<Command> &commands, const Visit &visit) {
  for (const Command &command : commands) {
    if (command.commands.empty()) {
      visit(command);
    } else {
      for_each_command(command.commands, visit);
    }
  }
}

/// C.tile("i", "j", 64, 64); of the whole function f.set_schedule("..."), f.fix(N=1024). A
/// transaction is a line, too, of its first commands: with f.transaction(): B.shift("i", 1);
/// C.after("B", "i").
std::string to_string(const Command &command);
/// One command a line, consecutive ones of a computation chained, those of a transaction indented.
std::string to_string(const Schedule &schedule);

} // namespace tilewright
