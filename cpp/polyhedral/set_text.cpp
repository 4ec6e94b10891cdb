#include "polyhedral/set_text.h"

#include <isl/ctx.h>
#include <isl/map.h>
#include <isl/set.h>
#include <isl/stream.h>
#include <isl/union_map.h>
#include <isl/union_set.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <memory>
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
  size_t start = 0;
  bool is_name = false;
};

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// How long isl's operator at `at` is.
size_t operator_length(std::string_view text, size_t at) {
  static constexpr std::array<std::string_view, 18> operators = {
      "<<=", ">>=", "->", "<=", ">=", "<<",  ">>",  "==", "!=",
      "=>",  "//",  ":=", "&&", "||", "/\\", "\\/", "<",  ">"};
  for (const std::string_view each : operators) {
    if (text.substr(at).starts_with(each)) {
      return each.size();
    }
  }
  return 1;
}

/// A text in isl's words. A minus stays with the number directly behind it, as isl reads it.
std::vector<Token> tokens_of(const std::string &text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    if (std::isspace(static_cast<unsigned char>(text[at])) != 0) {
      ++at;
      continue;
    }
    size_t end = at + operator_length(text, at);
    const bool is_name = starts_name(text[at]);
    const bool is_number =
        is_digit(text[at]) || (text[at] == '-' && end < text.size() && is_digit(text[end]));
    while (end < text.size() &&
           ((is_name && continues_name(text[end])) || (is_number && is_digit(text[end])))) {
      ++end;
    }
    tokens.push_back({text.substr(at, end - at), at, is_name});
    at = end;
  }
  return tokens;
}

/// The names of a text that nothing in it declares: neither tuple names, dimensions, nor names
/// after `exists`.
std::vector<std::string> undeclared_names(const std::vector<Token> &tokens) {
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

/// The parameters of a text that does not list them.
std::vector<std::string> implicit_parameters(const std::vector<Token> &tokens) {
  return tokens.empty() || tokens.front().text == "[" ? std::vector<std::string>()
                                                      : undeclared_names(tokens);
}

/// "[N, M] -> " of them.
std::string parameter_prefix(const std::vector<Token> &tokens) {
  std::string list;
  for (const std::string &name : implicit_parameters(tokens)) {
    list += (list.empty() ? "" : ", ") + name;
  }
  return list.empty() ? "" : "[" + list + "] -> ";
}

/// "column 7", or "line 2, column 3" of a text with several lines.
std::string place_in(const std::string &text, size_t at) {
  const std::string before = text.substr(0, at);
  const auto line = std::count(before.begin(), before.end(), '\n');
  const size_t start = before.rfind('\n') == std::string::npos ? 0 : before.rfind('\n') + 1;
  const std::string column = "column " + std::to_string(at - start + 1);
  return text.find('\n') == std::string::npos ? column
                                              : "line " + std::to_string(line + 1) + ", " + column;
}

std::string shown(const std::string &text) {
  constexpr size_t longest = 30;
  return "'" + (text.size() > longest ? text.substr(0, longest) + "..." : text) + "'";
}

/// What isl would leave out without a word, or read as something that nobody means; empty: nothing.
std::string find_misread(const std::string &text, const std::vector<Token> &tokens) {
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '#' || c == '"' ||
        (std::iscntrl(static_cast<unsigned char>(c)) != 0 && c != '\t' && c != '\n' && c != '\r')) {
      const auto code = static_cast<unsigned>(static_cast<unsigned char>(c));
      return place_in(text, at) + ": " +
             (c == '#' || c == '"' ? shown(std::string(1, c))
                                   : "the character with code " + std::to_string(code)) +
             " has no meaning in a set or map";
    }
  }
  const std::vector<std::string> unknown = implicit_parameters(tokens);
  for (size_t t = 0; t + 1 < tokens.size(); ++t) {
    const Token &number = tokens[t];
    const Token &name = tokens[t + 1];
    const bool touch = is_digit(number.text.back()) && !number.is_name && name.is_name &&
                       name.start == number.start + number.text.size();
    // "2N" is twice N; nobody means a parameter e3 in "9e3", nor x9 in "0x9".
    if (touch && (name.text.front() == 'e' || name.text.front() == 'E' || number.text == "0") &&
        std::any_of(name.text.begin(), name.text.end(), is_digit) &&
        std::find(unknown.begin(), unknown.end(), name.text) != unknown.end()) {
      return place_in(text, number.start) + ": " + shown(number.text + name.text) + " would be " +
             number.text + " times a parameter " + name.text +
             "; write a decimal integer, or a * between the two";
    }
  }
  for (size_t t = 0; t + 1 < tokens.size(); ++t) {
    if (tokens[t].text == "}") {
      return place_in(text, tokens[t + 1].start) + ": " + shown(text.substr(tokens[t + 1].start)) +
             " follows the closing brace";
    }
  }
  return "";
}

/// Reads all of `given`, or says in `problem` why not. isl tells no position of an error, so it
/// reads from a stream, and what it took last is where it stopped. Tokens are kept apart by two
/// spaces: it looks one character ahead.
/// `kind` is what is asked for; `open` and `close` stand around the words.
template <class Object, class Read>
Object parse(const std::string &given, std::string &problem, const Read &read,
             const std::string &kind, const std::string &open = "", const std::string &close = "") {
  const std::vector<Token> words = tokens_of(given);
  problem = find_misread(given, words);
  if (!problem.empty() || words.empty()) {
    problem = problem.empty() ? "the text is empty" : problem;
    return {};
  }
  std::string spaced = parameter_prefix(words) + open;
  std::vector<size_t> ends;
  for (const Token &word : words) {
    spaced += "  " + word.text;
    ends.push_back(spaced.size());
  }
  spaced += close + "  ";
  isl_ctx *context = isl_context().get();
  isl_ctx_reset_error(context);
  const std::unique_ptr<FILE, int (*)(FILE *)> file(fmemopen(spaced.data(), spaced.size(), "r"),
                                                    std::fclose);
  if (file == nullptr) {
    throw Error(ErrorKind::Internal, "no memory for reading a set");
  }
  const std::unique_ptr<isl_stream, void (*)(isl_stream *)> stream(
      isl_stream_new_file(context, file.get()), isl_stream_free);
  // There is no stream where isl has been asked to stop.
  Object object = stream == nullptr ? Object() : isl::manage(read(stream.get()));
  if (!object.is_null() && isl_stream_is_empty(stream.get()) != 0) {
    return object;
  }
  if (object.is_null() && (isl_ctx_last_error(context) == isl_error_quota ||
                           isl_ctx_last_error(context) == isl_error_abort)) {
    throw_isl_error("reading a set");
  }
  const auto taken = static_cast<size_t>(std::max(0L, std::ftell(file.get())));
  size_t last = 0;
  while (last + 1 < ends.size() && ends[last + 1] <= taken) {
    ++last;
  }
  const char *message = isl_ctx_last_error_msg(context);
  const std::string reason = message != nullptr ? message : "";
  isl_ctx_reset_error(context);
  if (reason.find("Assertion") != std::string::npos || reason.find("expecting") == 0) {
    problem = "it is not one " + kind; // it is well-formed
  } else if (taken >= spaced.size()) {
    problem = place_in(given, given.size()) + ": the text ends too early";
  } else {
    problem = place_in(given, words[last].start) + ": " +
              (reason.empty() ? "syntax error" : reason) + " at " + shown(words[last].text);
  }
  return {};
}

[[noreturn]] void refuse_text(const std::string &text, const std::string &what,
                              const std::string &problem, const char *example,
                              const SourceLocation &where) {
  throw Error(ErrorKind::Declaration,
              what + ": isl cannot read \"" + text + "\": " + problem + "; expected " + example,
              where);
}

} // namespace

bool is_isl_identifier(const std::string &name) {
  const auto plain = [](char c) { return continues_name(c) && c != '\'' && c != '$'; };
  return !name.empty() && starts_name(name.front()) &&
         std::all_of(name.begin(), name.end(), plain) && !is_reserved(name);
}

isl::set parse_set(const std::string &text, std::string &problem) {
  return parse<isl::set>(text, problem, isl_stream_read_set, "set");
}

isl::map parse_map(const std::string &text, std::string &problem) {
  return parse<isl::map>(text, problem, isl_stream_read_map, "map");
}

isl::union_set parse_union_set(const std::string &text, std::string &problem) {
  return parse<isl::union_set>(text, problem, isl_stream_read_union_set, "union of sets");
}

isl::union_map parse_union_map(const std::string &text, std::string &problem) {
  return parse<isl::union_map>(text, problem, isl_stream_read_union_map, "union of maps");
}

std::string place_of_word(const std::string &text, const std::string &name) {
  for (const Token &word : tokens_of(text)) {
    if (word.is_name && word.text == name) {
      return place_in(text, word.start);
    }
  }
  return "";
}

isl::set read_set(const std::string &text, const std::string &what, const SourceLocation &where) {
  const OperationLimit limit(reading_limit);
  std::string problem;
  isl::set set = parse_set(text, problem);
  if (set.is_null()) {
    refuse_text(text, what, problem,
                "one set such as \"[N] -> { C[i,j] : 0 <= i < N and 0 <= j <= i }\"", where);
  }
  return set;
}

isl::set read_parameter_set(const std::string &text, const std::string &what,
                            const SourceLocation &where) {
  const OperationLimit limit(reading_limit);
  const bool braced = text.find('{') != std::string::npos;
  std::string problem;
  isl::set set = braced ? parse_set(text, problem)
                        : parse<isl::set>(text, problem, isl_stream_read_set, "set", "{ :", "  }");
  if (!set.is_null() && isl_set_is_params(set.get()) != isl_bool_true) {
    set = {};
    problem = "it is a set with a tuple";
  }
  if (set.is_null()) {
    refuse_text(text, what, problem,
                "constraints on parameters such as \"[N] -> { : N > 3 }\" or \"N > 3\"", where);
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
