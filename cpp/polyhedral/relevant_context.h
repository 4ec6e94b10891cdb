// The context of a few statements of a program of many parameters. isl's work grows with the square
// of the parameters of a set and more, and most statements mention few of them.
#pragma once

#include "polyhedral/isl.h"

#include <set>
#include <string>
#include <vector>

namespace tilewright {

class RelevantContext {
public:
  /// `context`: of all parameters.
  explicit RelevantContext(const isl::set &context);

  /// What the context says of the parameters that the sets mention, beside what it says itself, and
  /// of those that it ties to them; the others are no dimensions. The context itself where it has
  /// few parameters.
  isl::set of(const std::vector<isl::set> &sets) const;
  /// The points without parameters that they mention only where the context says the same.
  isl::map without_known(const isl::map &points) const;
  bool leaves_out() const { return !names_.empty(); }

private:
  void mentioned_in(const isl::basic_set &part, std::set<std::string> &names) const;
  std::set<std::string> mentioned_in(const isl::set &set) const;

  isl::set context_;
  std::set<std::string> known_;    ///< its constraints, as constraint_text writes them
  std::vector<std::string> names_; ///< empty: nothing is left out
  std::vector<size_t>
      representative_; ///< of the parameters that are tied to each other, by position
};

} // namespace tilewright
