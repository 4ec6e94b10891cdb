// The loops of statements of which those that share a loop agree on its bounds: the common case,
// and then nothing has to be sorted or separated, as isl's AST generator would try first. Bounds
// come from eliminating the loops inside (Fourier and Motzkin) and from leaving out what the loops
// outside and the context imply; that each statement runs for its points only is checked.
#pragma once

#include "mapping/program.h"
#include "polyhedral/isl.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// The floor of (sum of coefficients * loops and parameters + constant) / divisor.
struct LoopBound {
  std::vector<std::pair<int, std::int64_t>> loops; ///< level, coefficient
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  std::int64_t constant = 0;
  std::int64_t divisor = 1;

  bool is_constant() const { return loops.empty() && parameters.empty(); }
  bool operator==(const LoopBound &) const = default;
  auto operator<=>(const LoopBound &) const = default;
};

/// A statement, a loop around others, or conditions around them.
struct ScannedNode {
  std::optional<size_t> statement;   ///< position in the program
  std::vector<LoopBound> conditions; ///< on parameters: none of these is negative
  int level = 0;                     ///< of the loop
  std::optional<LoopBound> value;    ///< of its only iteration
  std::vector<LoopBound> lowers;     ///< else it begins at the greatest of these
  std::vector<LoopBound> uppers;     ///< and ends before the least of these
  std::vector<ScannedNode> body;     ///< one after the other
};

/// `group`: positions of statements, `points[position]` the values of the loops of each, within the
/// context. Nothing where it is not such a case. `context`: what holds of the parameters that the
/// points mention.
std::optional<std::vector<ScannedNode>> scan_loops(const Program &program, const isl::set &context,
                                                   const std::vector<isl::set> &points,
                                                   const std::vector<size_t> &group);

/// The positions of the statements below, in order.
std::vector<size_t> statements_of(const ScannedNode &node);

} // namespace tilewright
