#include "mapping/schedule.h"

#include "mapping/command_table.h"

namespace tilewright {

namespace {

std::string quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
    }
    out += c;
  }
  return out + "\"";
}

struct ArgumentText {
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(const std::string &value) const { return quoted(value); }
  std::string operator()(const std::vector<std::string> &values) const {
    std::string out = "[";
    for (size_t i = 0; i < values.size(); ++i) {
      out += (i ? ", " : "") + quoted(values[i]);
    }
    return out + "]";
  }
  std::string operator()(const std::vector<std::int64_t> &values) const {
    std::string out = "[";
    for (size_t i = 0; i < values.size(); ++i) {
      out += (i ? ", " : "") + std::to_string(values[i]);
    }
    return out + "]";
  }
};

/// What Python's method takes by keyword, and leaves out where it is the default.
bool is_default(const Argument &argument) {
  const auto *text = std::get_if<std::string>(&argument);
  const auto *list = std::get_if<std::vector<std::int64_t>>(&argument);
  const auto *names = std::get_if<std::vector<std::string>>(&argument);
  const auto *number = std::get_if<std::int64_t>(&argument); // of pad; stages=1 is never given
  return (number != nullptr && *number == 0) ||
         (text != nullptr && (text->empty() || *text == "auto")) ||
         (list != nullptr && list->empty()) || (names != nullptr && names->empty());
}

std::string call_text(const Command &command) {
  const size_t positional = traits(command).positional;
  const std::vector<std::string> &keywords = traits(command).keywords;
  std::string out;
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const bool has_keyword = i >= positional && i - positional < keywords.size();
    if (has_keyword && is_default(command.arguments[i])) {
      continue;
    }
    out += out.empty() ? "" : ", ";
    out += has_keyword ? keywords[i - positional] + "=" : "";
    out += std::visit(ArgumentText{}, command.arguments[i]);
  }
  return "." + command.name + "(" + out + ")";
}

} // namespace

std::string to_string(const Command &command) { return command.computation + call_text(command); }

std::string to_string(const Schedule &schedule) {
  std::string out;
  const std::string *current = nullptr;
  for (const Command &command : schedule.commands) {
    if (current != nullptr && *current == command.computation) {
      out += call_text(command);
    } else {
      out += (out.empty() ? "" : "\n") + to_string(command);
    }
    current = &command.computation;
  }
  return out;
}

} // namespace tilewright
