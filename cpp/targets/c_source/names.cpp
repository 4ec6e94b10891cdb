#include "targets/c_source/names.h"

#include "polyhedral/error.h"

#include <fmt/format.h>

#include <string_view>

namespace tilewright {

namespace {

bool is_reserved(const std::string &name) {
  // Words of C, macros of its headers, and the functions that printed code calls by their names.
  static const std::set<std::string_view> words = {
      "alignas",  "alignof",      "asm",     "auto",      "bool",     "break",    "case",
      "char",     "complex",      "const",   "continue",  "default",  "do",       "double",
      "else",     "enum",         "extern",  "false",     "float",    "for",      "goto",
      "if",       "imaginary",    "inline",  "int",       "long",     "nullptr",  "register",
      "restrict", "return",       "short",   "signed",    "sizeof",   "static",   "struct",
      "switch",   "thread_local", "true",    "typedef",   "typeof",   "union",    "unsigned",
      "void",     "volatile",     "while",   "constexpr", "linux",    "unix",     "i386",
      "NULL",     "EOF",          "I",       "NAN",       "INFINITY", "HUGE_VAL", "errno",
      "assert",   "isnan",        "isinf",   "signbit",   "status",   "malloc",   "free",
      "fabs",     "fabsf",        "sqrt",    "sqrtf",     "floor",    "floorf",   "ceil",
      "ceilf",    "trunc",        "truncf",  "rint",      "rintf",    "copysign", "copysignf",
      "fmod",     "fmodf",        "creal",   "crealf",    "cimag",    "cimagf",   "conj",
      "conjf",    "memcpy",       "memmove", "memset",    "main"};
  const bool underscored =
      name.size() > 1 && name[0] == '_' && (name[1] == '_' || (name[1] >= 'A' && name[1] <= 'Z'));
  const bool of_stdint = name.ends_with("_t") || name.starts_with("INT") ||
                         name.starts_with("UINT") || name.starts_with("SIZE_");
  return underscored || of_stdint || name.starts_with("tw_") || name.starts_with("TW_") ||
         words.contains(name);
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

} // namespace

std::string c_type(ScalarType type) {
  switch (type.kind) {
  case TypeKind::Bool:
    return "bool";
  case TypeKind::Int:
    return fmt::format("int{}_t", type.bits);
  case TypeKind::UInt:
    return fmt::format("uint{}_t", type.bits);
  case TypeKind::BFloat:
    return "float";
  case TypeKind::Float:
    return type.bits == 64 ? "double" : "float";
  case TypeKind::Complex:
    return type.bits == 64 ? "float _Complex" : "double _Complex";
  }
  throw Error(ErrorKind::Internal, "a type that C does not have");
}

std::string c_memory_type(ScalarType type) {
  return type.is_floating() && type.bits == 16 ? "uint16_t" : c_type(type);
}

std::string c_component(ScalarType type) { return c_type(component_type(type)); }

std::string c_identifier(const std::string &name) {
  std::string text;
  for (const char c : name) {
    text += is_letter(c)
                ? std::string(1, c)
                : fmt::format("_{:02x}", static_cast<unsigned>(static_cast<std::uint8_t>(c)));
  }
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) {
    text.insert(text.begin(), '_');
  }
  if (is_reserved(text)) {
    text += '_';
  }
  return text;
}

std::string c_prototype(const ExternFunction &function) {
  std::string types;
  for (const ScalarType type : function.arguments) {
    types += (types.empty() ? "" : ", ") + c_type(type);
  }
  return c_type(function.result) + " " + function.name + "(" + types + ")";
}

std::string CNames::take(const std::string &wanted) {
  const std::string name = c_identifier(wanted.empty() ? "v" : wanted);
  std::string unique = name;
  for (int i = 2; taken_.contains(unique); ++i) {
    unique = fmt::format("{}_{}", name, i);
  }
  taken_.insert(unique);
  return unique;
}

const std::string &CNames::define(std::int64_t id, const std::string &wanted) {
  return names_[id] = take(wanted);
}

const std::string &CNames::of(std::int64_t id) const {
  const auto found = names_.find(id);
  if (found == names_.end()) {
    throw Error(ErrorKind::Internal, "C source uses a variable that is not defined");
  }
  return found->second;
}

} // namespace tilewright
