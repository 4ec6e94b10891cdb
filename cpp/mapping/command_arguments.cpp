#include "mapping/command_arguments.h"

#include "mapping/number_limits.h"
#include "polyhedral/counted.h"
#include "polyhedral/set_text.h"

#include <algorithm>
#include <cctype>

namespace tilewright {

void refuse(const Command &command, const std::string &message) {
  throw Error(ErrorKind::Schedule, to_string(command) + ": " + message, command.where);
}

void refuse_part(const Command &command, const Command &inner, const Error &error) {
  const std::string prefix = to_string(inner) + ": ";
  const std::string text = error.what();
  if (!text.starts_with(prefix)) {
    throw;
  }
  refuse(command, text.substr(prefix.size()));
}

namespace {

/// `read` reads the text, with all of its parameters.
template <class Map>
Map read_as(const MappingState &state, const Command &command, const std::string &text,
            const std::string &example, Map (*read)(const std::string &, std::string &)) {
  std::string problem;
  const Map map = read(text, problem);
  if (map.is_null()) {
    refuse(command,
           "isl cannot read this map: " + problem + "; expected one such as \"" + example + "\"");
  }
  const std::vector<std::string> &known = state.function->parameters;
  for (const std::string &name : parameter_names(map)) {
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      std::string list;
      for (const std::string &each : known) {
        list += (list.empty() ? "" : ", ") + each;
      }
      const std::string place = place_of_word(text, name);
      refuse(command, (place.empty() ? "" : place + ": ") + "'" + name +
                          "' is no parameter of the function; its parameters are: " +
                          (list.empty() ? "none" : list));
    }
  }
  return map;
}

} // namespace

isl::map read_command_map(const MappingState &state, const Command &command,
                          const std::string &text, const std::string &example) {
  return read_as(state, command, text, example, &parse_map);
}

isl::union_map read_command_maps(const MappingState &state, const Command &command,
                                 const std::string &text, const std::string &example) {
  return read_as(state, command, text, example, &parse_union_map);
}

std::string tag_description(Tag tag) {
  switch (tag) {
  case Tag::Parallel:
    return "a parallel loop (parallelize)";
  case Tag::Vector:
    return "a vector loop (vectorize)";
  case Tag::Unroll:
    return "an unrolled loop (unroll)";
  case Tag::GpuBlock:
    return "a loop over a GPU's blocks (gpu_block)";
  case Tag::GpuThread:
    return "a loop over a block's threads (gpu_thread)";
  case Tag::GpuSpread:
    return "a loop that a block's threads share out (gpu_spread)";
  case Tag::GpuMma:
    return "a loop of a warp's tile (gpu_mma)";
  case Tag::Sequential:
    break;
  }
  return "a sequential loop";
}

void require_no_other_tag(const LoopDimension &loop, Tag tag, const Command &command) {
  // The loops of a copy into shared memory are spread by default, until something else is said.
  if (loop.tag.tag != Tag::Sequential && loop.tag.tag != Tag::GpuSpread && loop.tag.tag != tag) {
    refuse(command, "loop '" + loop.name + "' is " + tag_description(loop.tag.tag) +
                        " already and cannot be " + tag_description(tag) +
                        " too; split it first and tag one of the two loops");
  }
}

void CommandArguments::expect_between(size_t least, size_t most, const char *signature) const {
  if (size() < least || size() > most) {
    refuse(command_, "expected " + std::string(signature) + ", got " + counted(size(), "argument"));
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

std::int64_t CommandArguments::given_integer(size_t position, const char *role) const {
  if (!is_integer(position)) {
    refuse(command_,
           "argument " + std::to_string(position + 1) + " (" + role + ") must be an integer");
  }
  return std::get<std::int64_t>(command_.arguments[position]);
}

std::int64_t CommandArguments::any_integer(size_t position, const char *role) const {
  const std::int64_t value = given_integer(position, role);
  if (value > largest_number || value < -largest_number) {
    refuse(command_,
           std::string(role) + " must lie between -2**40 and 2**40, got " + std::to_string(value));
  }
  return value;
}

std::int64_t CommandArguments::integer(size_t position, const char *role,
                                       std::int64_t least) const {
  const std::int64_t value = given_integer(position, role);
  if (value < least) {
    refuse(command_, std::string(role) + " must be at least " + std::to_string(least) + ", got " +
                         std::to_string(value));
  }
  if (value > largest_size) {
    refuse(command_, std::string(role) + " must be at most 2**31, got " + std::to_string(value));
  }
  return value;
}

void require_new_name(const TimeSpaceMap &map, const std::string &name, const Command &command) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0 ||
      !std::all_of(name.begin(), name.end(), plain)) {
    refuse(command, "'" + name +
                        "' cannot name a loop; expected letters, digits and underscores, "
                        "not starting with a digit");
  }
  for (const LoopDimension &dimension : map.dimensions) {
    if (dimension.name == name) {
      refuse(command, "a loop named '" + name + "' is there already; give other names");
    }
  }
}

bool is_taken(const MappingState &state, const std::string &name) {
  const std::vector<std::string> &parameters = state.function->parameters;
  return state.function->find(name) != nullptr ||
         std::find(parameters.begin(), parameters.end(), name) != parameters.end() ||
         std::any_of(state.storage.begin(), state.storage.end(),
                     [&](const auto &entry) { return entry.second.buffer == name; });
}

void require_new_computation(const MappingState &state, const std::string &name,
                             const Command &command) {
  if (!is_isl_identifier(name)) {
    refuse(command, "'" + name +
                        "' cannot name a computation; expected letters, digits and "
                        "underscores, and no word of isl's notation");
  }
  if (is_taken(state, name)) {
    const bool declared = state.function->find(name) != nullptr;
    refuse(command, std::string("there is a ") +
                        (declared ? "computation or input" : "parameter or buffer") + " named '" +
                        name + "' already; give another name");
  }
}

} // namespace tilewright
