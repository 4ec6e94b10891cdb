// The one table of commands: what applies each, and what the rest of the compiler, and Python, ask
// of a command. Nobody compares a command's name: what a place wants to know is a trait here, so
// that a new command is a handler, a row, and a Python method that passes its arguments on.
#pragma once

#include "mapping/mapping.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct CommandTraits {
  void (*handler)(MappingState &, const Command &) = nullptr;
  /// The same command given to the whole function; its computation is empty then.
  void (*of_function)(MappingState &, const Command &) = nullptr;
  bool places = false;      ///< its first argument is another computation
  bool reads = false;       ///< its first argument is an array, perhaps a computation
  bool turns = false;       ///< it is the other computation that Python's method returns
  bool takes_map = false;   ///< its first argument is the text of a map from the computation
  bool times_all = false;   ///< given to the function, it says when every computation runs
  bool takes_pairs = false; ///< arguments are pairs of a name and a number, by keyword in Python
  /// Makes a computation, which Python's method returns; this argument is its name, or left out.
  std::optional<size_t> makes = std::nullopt;
  bool cuts = false; ///< cuts loops by sizes
  /// The instances run in the order in which they did, but for its tag, where it cuts a sequential
  /// loop of the computation's own.
  bool keeps_order = false;
  std::optional<Tag> tag = std::nullopt; ///< that it gives to a loop
  bool needs_one_time = false;           ///< of each instance: refused of a one-to-many map
  bool maps_to_gpu = false;              ///< what it says may be of a GPU's blocks and threads
  bool completed = false; ///< what is left out of its arguments is found by planning (resolve)
  size_t positional = 0;  ///< arguments in front of `keywords`
  /// Arguments that Python's method takes by keyword and leaves out where they are the default.
  std::vector<std::string> keywords = {};
};

const std::map<std::string, CommandTraits> &command_table();

/// The row of a command; one without traits for a name that is not in the table.
const CommandTraits &traits(const Command &command);

} // namespace tilewright
