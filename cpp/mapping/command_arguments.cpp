#include "mapping/command_arguments.h"

namespace tilewright {

void refuse(const Command &command, const std::string &message) {
  throw Error(ErrorKind::Schedule, to_string(command) + ": " + message, command.where);
}

void CommandArguments::expect_between(size_t least, size_t most, const char *signature) const {
  if (size() < least || size() > most) {
    refuse(command_,
           "expected " + std::string(signature) + ", got " + std::to_string(size()) + " arguments");
  }
}

bool CommandArguments::is_integer(size_t position) const {
  return position < size() && std::holds_alternative<std::int64_t>(command_.arguments[position]);
}

bool CommandArguments::is_name(size_t position) const {
  return position < size() && std::holds_alternative<std::string>(command_.arguments[position]);
}

std::string CommandArguments::name(size_t position, const char *role) const {
  if (!is_name(position)) {
    refuse(command_, "argument " + std::to_string(position + 1) + " (" + role + ") must be a name");
  }
  return std::get<std::string>(command_.arguments[position]);
}

std::optional<std::string> CommandArguments::optional_name(size_t position,
                                                           const char *role) const {
  if (position >= size()) {
    return std::nullopt;
  }
  return name(position, role);
}

std::int64_t CommandArguments::any_integer(size_t position, const char *role) const {
  if (!is_integer(position)) {
    refuse(command_,
           "argument " + std::to_string(position + 1) + " (" + role + ") must be an integer");
  }
  return std::get<std::int64_t>(command_.arguments[position]);
}

std::int64_t CommandArguments::integer(size_t position, const char *role,
                                       std::int64_t least) const {
  const std::int64_t value = any_integer(position, role);
  if (value < least) {
    refuse(command_, std::string(role) + " must be at least " + std::to_string(least) + ", got " +
                         std::to_string(value));
  }
  return value;
}

size_t find_loop(const TimeSpaceMap &map, const std::string &name, const Command &command) {
  std::string known;
  for (size_t d = 0; d < map.dimensions.size(); ++d) {
    if (map.dimensions[d].name == name) {
      return d;
    }
    known += (known.empty() ? "" : ", ") + map.dimensions[d].name;
  }
  refuse(command, "there is no loop named '" + name +
                      "'; the loops are: " + (known.empty() ? "none" : known));
}

void require_new_name(const TimeSpaceMap &map, const std::string &name, const Command &command) {
  for (const LoopDimension &dimension : map.dimensions) {
    if (dimension.name == name) {
      refuse(command, "a loop named '" + name + "' is there already; give other names");
    }
  }
}

} // namespace tilewright
