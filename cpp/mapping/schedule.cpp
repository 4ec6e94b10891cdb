#include "mapping/schedule.h"

#include "mapping/command_table.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <utility>

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

/// What Python's method takes by this keyword, and leaves out where it is the default.
bool is_default(const std::string &keyword, const Argument &argument) {
  const auto *text = std::get_if<std::string>(&argument);
  const auto *list = std::get_if<std::vector<std::int64_t>>(&argument);
  const auto *names = std::get_if<std::vector<std::string>>(&argument);
  const auto *number = std::get_if<std::int64_t>(&argument);
  return (number != nullptr && *number == (keyword == "stages" ? 1 : 0)) ||
         (text != nullptr && (text->empty() || *text == "auto")) ||
         (list != nullptr && list->empty()) || (names != nullptr && names->empty());
}

/// A name that Python takes as a keyword.
bool is_keyword_name(const std::string &name) {
  static const std::set<std::string> reserved = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
         std::all_of(name.begin(), name.end(), plain) && !reserved.contains(name);
}

/// Pairs of a name and a number: "N=4, M=8", or a dict where a name is no keyword.
std::string pairs_text(const std::vector<Argument> &arguments) {
  bool keywords = true;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const auto *name = std::get_if<std::string>(&arguments[i]);
    keywords = keywords && name != nullptr && is_keyword_name(*name);
  }
  std::string out;
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    out += out.empty() ? "" : ", ";
    out += keywords ? std::get<std::string>(arguments[i]) + "="
                    : std::visit(ArgumentText{}, arguments[i]) + ": ";
    out += std::visit(ArgumentText{}, arguments[i + 1]);
  }
  return keywords ? out : "{" + out + "}";
}

std::string call_text(const Command &command) {
  if (traits(command).takes_pairs && command.arguments.size() % 2 == 0) {
    return "." + command.name + "(" + pairs_text(command.arguments) + ")";
  }
  const size_t positional = traits(command).positional;
  const std::vector<std::string> &keywords = traits(command).keywords;
  std::string out;
  for (size_t i = 0; i < command.arguments.size(); ++i) {
    const bool has_keyword = i >= positional && i - positional < keywords.size();
    if (has_keyword && is_default(keywords[i - positional], command.arguments[i])) {
      continue;
    }
    out += out.empty() ? "" : ", ";
    out += has_keyword ? keywords[i - positional] + "=" : "";
    out += std::visit(ArgumentText{}, command.arguments[i]);
  }
  return "." + command.name + "(" + out + ")";
}

/// Commands as text, one a line, consecutive ones of a computation chained.
std::vector<std::string> chained(const std::vector<Command> &commands) {
  std::vector<std::string> lines;
  const std::string *current = nullptr;
  for (const Command &command : commands) {
    if (!command.commands.empty()) {
      lines.emplace_back("with f.transaction():");
      for (const std::string &line : chained(command.commands)) {
        lines.push_back("    " + line);
      }
      current = nullptr;
      continue;
    }
    if (current != nullptr && *current == command.computation) {
      lines.back() += call_text(command);
    } else {
      lines.push_back(to_string(command));
    }
    current = command.computation.empty() ? nullptr : &command.computation;
  }
  return lines;
}

} // namespace

Command transaction_of(std::vector<Command> commands, const SourceLocation &where) {
  return {"", transaction_name, {}, where, std::move(commands)};
}

bool mentions(const Command &command, const std::string &computation) {
  const auto names = [&](const Argument &argument) {
    if (const auto *name = std::get_if<std::string>(&argument)) {
      return *name == computation;
    }
    const auto *all = std::get_if<std::vector<std::string>>(&argument);
    return all != nullptr && std::find(all->begin(), all->end(), computation) != all->end();
  };
  const auto &arguments = command.arguments;
  const auto &commands = command.commands;
  return command.computation == computation ||
         std::any_of(arguments.begin(), arguments.end(), names) ||
         std::any_of(commands.begin(), commands.end(),
                     [&](const Command &inner) { return mentions(inner, computation); });
}

std::string to_string(const Command &command) {
  if (command.commands.empty()) {
    return (command.computation.empty() ? "f" : command.computation) + call_text(command);
  }
  constexpr size_t most = 3; // lines of a transaction in a message
  const std::vector<std::string> lines = chained(command.commands);
  std::string text = "with f.transaction(): ";
  for (size_t i = 0; i < std::min(lines.size(), most); ++i) {
    text += (i > 0 ? "; " : "") + lines[i];
  }
  return text + (lines.size() > most ? "; ..." : "");
}

std::string to_string(const Schedule &schedule) {
  std::string out;
  for (const std::string &line : chained(schedule.commands)) {
    out += (out.empty() ? "" : "\n") + line;
  }
  return out;
}

} // namespace tilewright
