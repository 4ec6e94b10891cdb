#include "mapping/schedule.h"

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

std::string call_text(const Command &command) {
  std::string out = "." + command.name + "(";
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    out += (i ? ", " : "") + std::visit(ArgumentText{}, command.arguments[i]);
  }
  return out + ")";
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
