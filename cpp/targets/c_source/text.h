// Expressions of C on their way to a file: text, and how strongly its outermost operator binds, so
// that parentheses stand where C or a reader needs them.
#pragma once

#include <string>
#include <utility>

namespace tilewright {

/// C's binding strengths, weakest first.
enum class CPrecedence {
  Conditional,
  Or,
  And,
  BitOr,
  BitXor,
  BitAnd,
  Equality,
  Relation,
  Shift,
  Sum,
  Product,
  Prefix,
  Atom
};

struct CText {
  std::string text;
  CPrecedence precedence = CPrecedence::Atom;

  std::string at_least(CPrecedence wanted) const {
    return precedence >= wanted ? text : "(" + text + ")";
  }
  /// Beside an operator after which a sign would read as one of its own.
  std::string beside(CPrecedence wanted) const {
    return text.starts_with('-') ? "(" + text + ")" : at_least(wanted);
  }
};

/// "name(first, second)"
inline CText c_call(const std::string &name, const CText &first) {
  return {name + "(" + first.text + ")"};
}
inline CText c_call(const std::string &name, const CText &first, const CText &second) {
  return {name + "(" + first.text + ", " + second.text + ")"};
}
inline CText c_cast(const std::string &type, const CText &value) {
  return {"(" + type + ")" + value.at_least(CPrecedence::Prefix), CPrecedence::Prefix};
}

} // namespace tilewright
