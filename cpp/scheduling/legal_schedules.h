// What was found legal once is not asked again: the schedules of a function whose legality is
// known, in this process and, beside the kernels on disk, for the next one. A schedule is known by
// a digest of the function as canonical text, of this build of the library, and of its commands one
// after the other; the mapping, and so the verdict, follows from these. Only verdicts of "legal"
// are kept: a refusal is always asked again, and so always has its witness.
#pragma once

#include "algorithm/function.h"
#include "mapping/schedule.h"

#include <set>
#include <string>

namespace tilewright {

class LegalSchedules {
public:
  /// Reads what is known of `function`.
  explicit LegalSchedules(const Function &function);

  /// The digest of no commands: each computation in its own loops, in the order of declaration.
  const std::string &none() const { return none_; }
  /// The digest of one more command.
  static std::string after(const std::string &schedule, const Command &command);

  bool contains(const std::string &schedule) const;
  void add(const std::string &schedule);
  /// Writes what was added to disk, if that is possible.
  void store();
  /// What the process knows of all functions; what is on disk stays.
  static void forget_all();

private:
  std::string none_;
  std::set<std::string> added_; ///< since the last store()
};

} // namespace tilewright
