// isl for the whole project: its C++ interface, one context, an operation limit, and errors as
// exceptions. All isl work happens on one process-wide context, which only the thread with isl's
// lock (isl_lock.h) may touch: isl contexts are not thread-safe. Nothing here knows an IR.
#pragma once

#include "polyhedral/error.h"
#include "polyhedral/isl_lock.h"
#include "polyhedral/isl_work.h"

#include <isl/isl-noexceptions.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// The process-wide context; made on first use, errors reported through return values (never
/// printed, never abort).
isl::ctx isl_context();

/// "isl-0.25-193-..." of the isl that answers; start-up compares it with the one the build meant.
std::string isl_version_text();

/// While alive, the thread has isl's lock, and isl operations beyond `operations` fail; `check`
/// then throws Error(Limit). Nests (inner limits may only be tighter).
class OperationLimit {
public:
  enum class Inside {
    Tighten, ///< a limit inside another one holds for its part alone
    Keep     ///< inside another one, that one stays as it is
  };
  explicit OperationLimit(std::uint64_t operations, Inside inside = Inside::Tighten);
  ~OperationLimit();
  OperationLimit(const OperationLimit &) = delete;
  OperationLimit &operator=(const OperationLimit &) = delete;

private:
  IslLock lock_;
  std::uint64_t previous_;
  bool is_own_ = false; ///< not that of another one around it
};

/// Told when the first OperationLimit is opened, and when the last one is closed: between them isl
/// may work for long.
struct AnalysisScope {
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
};
void set_analysis_scope(AnalysisScope scope);

/// The operations that isl may take outside all OperationLimits, from one to the next. Tests lower
/// it to find an entry that opens none.
void set_unscoped_limit(std::uint64_t operations);

/// Throws the last isl error (Limit when the quota was hit, else Internal) naming `what`; clears
/// it.
[[noreturn]] void throw_isl_error(const char *what);

/// Passes a non-null isl object through; a null one throws. Nulls propagate through isl, so one
/// check at the end of a chain is enough.
template <class T>
T checked(T object, const char *what) {
  if (object.is_null() || isl_work_is_spent) {
    throw_isl_error(what);
  }
  return object;
}
inline bool checked(isl::boolean value, const char *what) {
  if (value.is_error() || isl_work_is_spent) {
    throw_isl_error(what);
  }
  return value.is_true();
}

/// A number of dimensions; isl::size itself aborts when it is read before it was tested.
inline unsigned checked(isl::size value, const char *what) {
  if (value.is_error() || isl_work_is_spent) {
    throw_isl_error(what);
  }
  return unsigned(value);
}

/// What `raw` is, which it takes; nothing for an infinite or a rational number, or none.
std::optional<std::int64_t> whole_number(isl_val *raw);

/// A concrete integer point of a set: parameter values first, then set dimensions. Empty sets give
/// false.
struct Point {
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  std::vector<std::int64_t> coordinates;
};
/// A small, readable sample: lexicographically smallest after parameters were chosen small.
bool sample_point(const isl::set &set, Point &point);

/// The names of the parameters that a set or map lists, used or not.
std::vector<std::string> parameter_names(const isl::set &set);
std::vector<std::string> parameter_names(const isl::map &map);
std::vector<std::string> parameter_names(const isl::union_map &maps);

std::string to_text(const isl::set &set);
std::string to_text(const isl::map &map);

} // namespace tilewright
