// The one error type of the core. Every failure that a person can cause, and every failure of isl
// or LLVM, becomes an `Error` of one of the kinds below; the bindings turn a kind into the Python
// class of the same meaning. Nothing in the core calls abort, exit or assert on what a person gave.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

namespace tilewright {

/// Where in the user's program something was written. `line` is 0 when it is not known.
struct SourceLocation {
  std::string file;
  int line = 0;
  std::string text; ///< the source line itself, stripped; empty when it is not known

  bool known() const { return line > 0; }
};

enum class ErrorKind {
  Type, ///< an operand or argument of a wrong type         -> tw.DeclarationTypeError (TypeError)
  Declaration, ///< a declaration that does not make sense          -> tw.DeclarationError
               ///< (ValueError)
  Bounds, ///< a read outside the producer's domain            -> tw.DomainError (DeclarationError,
          ///< IndexError)
  Cycle,  ///< an instance that needs its own value            -> tw.SelfDependenceError
          ///< (DeclarationError)
  Schedule, ///< a command whose arguments do not make sense     -> tw.ScheduleError (ValueError)
  IllegalSchedule, ///< a schedule or storage that changes the result   -> tw.IllegalScheduleError
                   ///< (ScheduleError)
  Limit,           ///< isl's operation limit was reached               -> tw.AnalysisLimitError
                   ///< (RuntimeError)
  Index,  ///< a computed subscript outside its array at run time -> tw.SubscriptError (IndexError)
  Access, ///< an access outside its memory, where that is watched    -> tw.OutOfBoundsError
          ///< (SubscriptError)
  Device, ///< a GPU, or its driver, is missing or failed -> tw.DeviceError (RuntimeError)
  Argument, ///< a wrong value given to an entry point           -> ValueError
  Set,      ///< an operation on sets that has no answer         -> tw.SetError (ValueError)
  Internal  ///< a failure of isl, LLVM or this library          -> tw.InternalError (RuntimeError)
};

/// A text with its control characters spelled out ("\\x00"): what a person gave stands in messages,
/// and those end at a zero.
inline std::string printable(const std::string &text) {
  constexpr const char *digits = "0123456789abcdef";
  std::string result;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    constexpr unsigned char space = 0x20;
    constexpr unsigned char deleted = 0x7f;
    if ((code < space && c != '\n' && c != '\t') || code == deleted) {
      result += {'\\', 'x', digits[code / 16], digits[code % 16]};
    } else {
      result += c;
    }
  }
  return result;
}

class Error : public std::runtime_error {
public:
  Error(ErrorKind kind, const std::string &message, SourceLocation where = {})
      : std::runtime_error(printable(message)), kind(kind), where(std::move(where)) {}

  ErrorKind kind;
  SourceLocation where;
  /// Named facts that Python shows as attributes, e.g. "dependence", "source_instance",
  /// "sink_instance".
  std::map<std::string, std::string> details;
};

} // namespace tilewright
