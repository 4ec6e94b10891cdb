// Reading a command's arguments: positions, kinds and defaults, with one wording for everything
// that can be wrong.
#pragma once

#include "mapping/mapping.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Error(Schedule) that starts with the command as Python text.
[[noreturn]] void refuse(const Command &command, const std::string &message);

class CommandArguments {
public:
  explicit CommandArguments(const Command &command) : command_(command) {}

  size_t size() const { return command_.arguments.size(); }
  void expect_between(size_t least, size_t most, const char *signature) const;
  bool is_integer(size_t position) const;
  bool is_name(size_t position) const;
  std::string name(size_t position, const char *role) const;
  std::optional<std::string> optional_name(size_t position, const char *role) const;
  /// An integer of at least `least`.
  std::int64_t integer(size_t position, const char *role, std::int64_t least) const;
  std::int64_t any_integer(size_t position, const char *role) const;

private:
  const Command &command_;
};

/// Position of a loop by name; refuses with the loops there are.
size_t find_loop(const TimeSpaceMap &map, const std::string &name, const Command &command);
/// Refuses a name that another loop of the computation has.
void require_new_name(const TimeSpaceMap &map, const std::string &name, const Command &command);
/// Whether something of the function has this name: a computation, an input, a parameter, a buffer.
bool is_taken(const MappingState &state, const std::string &name);
/// Refuses a name for a new computation that is taken or that isl cannot read.
void require_new_computation(const MappingState &state, const std::string &name,
                             const Command &command);

} // namespace tilewright
