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

/// `error`, which was caught, as one of `command` where it starts with `inner`; else as it is.
[[noreturn]] void refuse_part(const Command &command, const Command &inner, const Error &error);

class CommandArguments {
public:
  explicit CommandArguments(const Command &command) : command_(command) {}

  size_t size() const { return command_.arguments.size(); }
  void expect_between(size_t least, size_t most, const char *signature) const;
  bool is_integer(size_t position) const;
  bool is_name(size_t position) const;
  std::string name(size_t position, const char *role) const;
  std::optional<std::string> optional_name(size_t position, const char *role) const;
  /// A size, a factor, a count: an integer of at least `least` and at most largest_size.
  std::int64_t integer(size_t position, const char *role, std::int64_t least) const;
  /// An integer of at most largest_number, either way.
  std::int64_t any_integer(size_t position, const char *role) const;

private:
  std::int64_t given_integer(size_t position, const char *role) const;

  const Command &command_;
};

/// Runs `part`, which applies `inner`, a command that `command` is made of: what it refuses is said
/// of the command that was given.
template <class Part>
void apply_part(const Command &command, const Command &inner, Part &&part) {
  try {
    part();
  } catch (const Error &error) {
    refuse_part(command, inner, error);
  }
}

/// The map that a command gives as text, all of it, over parameters of the function. Refuses
/// anything else, with the column and `example`.
isl::map read_command_map(const MappingState &state, const Command &command,
                          const std::string &text, const std::string &example);
/// As many maps as the text has.
isl::union_map read_command_maps(const MappingState &state, const Command &command,
                                 const std::string &text, const std::string &example);

/// "a vector loop (vectorize)": what a tag makes of a loop, and the command that gives it.
std::string tag_description(Tag tag);
/// Refuses a loop that has another tag than `tag`, which would go without a word.
void require_no_other_tag(const LoopDimension &loop, Tag tag, const Command &command);

/// Position of a loop by name; refuses with the loops there are, and one that stands for several
/// (mapping/joined_dimensions.h).
size_t find_loop(const TimeSpaceMap &map, const std::string &name, const Command &command);
/// Refuses a name that another loop of the computation has.
void require_new_name(const TimeSpaceMap &map, const std::string &name, const Command &command);
/// Whether something of the function has this name: a computation, an input, a parameter, a buffer.
bool is_taken(const MappingState &state, const std::string &name);
/// Refuses a name for a new computation that is taken or that isl cannot read.
void require_new_computation(const MappingState &state, const std::string &name,
                             const Command &command);

} // namespace tilewright
