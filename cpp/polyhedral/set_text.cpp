#include "polyhedral/set_text.h"

#include <isl/ctx.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>

namespace tilewright {

namespace {

constexpr std::uint64_t reading_limit = 5'000'000;

bool starts_name(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool continues_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '\'' || c == '$';
}

bool is_reserved(std::string_view word) {
  static constexpr std::array<std::string_view, 20> words = {
      "and", "or",  "not",  "exists", "implies", "mod", "floor",    "ceil", "floord", "ceild",
      "min", "max", "true", "false",  "infty",   "NaN", "infinity", "rat",  "True",   "False"};
  return std::find(words.begin(), words.end(), word) != words.end();
}

struct Token {
  std::string text;
  bool is_name = false;
};

std::vector<Token> tokens_of(const std::string &text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    if (starts_name(text[at])) {
      size_t end = at + 1;
      while (end < text.size() && continues_name(text[end])) {
        ++end;
      }
      tokens.push_back({text.substr(at, end - at), true});
      at = end;
    } else {
      if (std::isspace(static_cast<unsigned char>(text[at])) == 0) {
        tokens.push_back({std::string(1, text[at]), false});
      }
      ++at;
    }
  }
  return tokens;
}

/// The names of `text` that nothing in it declares: neither tuple names, dimensions, nor names
/// after `exists`.
std::vector<std::string> undeclared_names(const std::string &text) {
  const std::vector<Token> tokens = tokens_of(text);
  std::set<std::string> declared;
  std::vector<std::string> used;
  int depth = 0;          // of brackets of a tuple
  bool in_tuples = true;  // before the ':' of a disjunct
  bool in_exists = false; // between `exists` and its ':'
  for (size_t at = 0; at < tokens.size(); ++at) {
    const Token &token = tokens[at];
    if (!token.is_name) {
      if (token.text == "[") {
        ++depth;
      } else if (token.text == "]") {
        --depth;
      } else if (token.text == ":") {
        in_tuples = false;
        in_exists = false;
      } else if (token.text == ";") {
        in_tuples = true;
      }
      continue;
    }
    const bool opens_tuple = at + 1 < tokens.size() && tokens[at + 1].text == "[";
    const std::string before = at > 0 ? tokens[at - 1].text : "";
    const std::string after = at + 1 < tokens.size() ? tokens[at + 1].text : "";
    if (token.text == "exists") {
      in_exists = true;
    } else if (is_reserved(token.text) || (opens_tuple && in_tuples)) {
      continue;
    } else if (in_exists && (before == "exists" || before == "(" || before == ",")) {
      declared.insert(token.text);
    } else if (in_tuples && depth > 0 && (before == "[" || before == ",") &&
               (after == "]" || after == "," || after == "=")) {
      declared.insert(token.text);
    } else {
      used.push_back(token.text);
    }
  }
  std::vector<std::string> result;
  for (const std::string &name : used) {
    if (declared.count(name) == 0 &&
        std::find(result.begin(), result.end(), name) == result.end()) {
      result.push_back(name);
    }
  }
  return result;
}

std::string trimmed(const std::string &text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) {
    return "";
  }
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::string with_parameters(const std::string &text) {
  if (text.empty() || text.front() == '[') {
    return text;
  }
  std::string list;
  for (const std::string &name : undeclared_names(text)) {
    list += (list.empty() ? "" : ", ") + name;
  }
  return list.empty() ? text : "[" + list + "] -> " + text;
}

isl::set parse(const std::string &text, const std::string &what, const SourceLocation &where) {
  isl_ctx *context = isl_context().get();
  isl_ctx_reset_error(context);
  isl::set set = isl::manage(isl_set_read_from_str(context, with_parameters(text).c_str()));
  if (set.is_null()) {
    if (isl_ctx_last_error(context) == isl_error_quota) {
      throw_isl_error("reading a set");
    }
    const char *message = isl_ctx_last_error_msg(context);
    const std::string reason = message != nullptr ? message : "not one set";
    isl_ctx_reset_error(context);
    throw Error(ErrorKind::Declaration,
                what + ": isl cannot read \"" + text + "\": " + reason +
                    "; expected one set such as \"[N] -> { C[i,j] : 0 <= i < N and 0 <= j <= i }\"",
                where);
  }
  return set;
}

} // namespace

bool is_isl_identifier(const std::string &name) {
  const auto plain = [](char c) { return continues_name(c) && c != '\'' && c != '$'; };
  return !name.empty() && starts_name(name.front()) &&
         std::all_of(name.begin(), name.end(), plain) && !is_reserved(name);
}

isl::set read_set(const std::string &text, const std::string &what, const SourceLocation &where) {
  const OperationLimit limit(reading_limit);
  return parse(trimmed(text), what, where);
}

isl::set read_parameter_set(const std::string &text, const std::string &what,
                            const SourceLocation &where) {
  const OperationLimit limit(reading_limit);
  std::string full = trimmed(text);
  if (full.find('{') == std::string::npos) {
    full = "{ : " + full + " }";
  }
  isl::set set = parse(full, what, where);
  if (isl_set_is_params(set.get()) != isl_bool_true) {
    throw Error(ErrorKind::Declaration,
                what +
                    ": expected constraints on parameters such as \"[N] -> { : N > 3 }\", got \"" +
                    text + "\"",
                where);
  }
  return set;
}

std::string braced_text(const isl::set &set) {
  const std::string text = to_text(set);
  const size_t open = text.find('{');
  return open == std::string::npos ? text : text.substr(open);
}

std::string constraint_text(const isl::set &set) {
  const std::string text = braced_text(set);
  const size_t close = text.rfind('}');
  // Several disjuncts repeat the tuple: "{ C[i] : i < 3; C[i] : i > 5 }".
  std::string result;
  size_t from = 1;
  int parts = 0;
  while (from < close) {
    size_t until = text.find(';', from);
    until = until == std::string::npos || until > close ? close : until;
    const std::string part = trimmed(text.substr(from, until - from));
    const size_t colon = part.find(':');
    if (colon == std::string::npos) {
      return "";
    }
    result += (parts++ == 0 ? "" : " or ") + trimmed(part.substr(colon + 1));
    from = until + 1;
  }
  return result;
}

std::string instance_text(const std::string &name, const std::vector<std::int64_t> &coordinates) {
  std::string text = name + "[";
  for (size_t d = 0; d < coordinates.size(); ++d) {
    text += (d == 0 ? "" : ",") + std::to_string(coordinates[d]);
  }
  return text + "]";
}

std::string parameter_text(const Point &point) {
  std::string text;
  for (const auto &[name, value] : point.parameters) {
    text += (text.empty() ? "" : ", ") + name + " = " + std::to_string(value);
  }
  return text;
}

} // namespace tilewright
