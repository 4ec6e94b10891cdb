// What integers an expression that reads data may be, instance by instance: bounds that minimum,
// maximum, remainders, narrow types, conditions and the ranges of functions such as the sine give.
// Subscripts that data decide about are over-approximated by it, so that
// x[clamp(n - d[n], n - 200, n)] reads at most 201 elements of x.
#pragma once

#include "algorithm/affine.h"
#include "algorithm/known_facts.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

/// Where an expression is computed, and what is known there.
struct ValueSite {
  const IterationSpace &space;
  const isl::set &domain; ///< of `space`
  const std::vector<Fact> &facts;
  /// { space[i] -> [value] } of what an array holds, or nothing.
  std::function<std::optional<isl::map>(const Expr &access)> promised = {};
};

/// { space[i] -> [value] } that has every value which the integer expression takes at i, and
/// perhaps more; nothing where no bound is known.
std::optional<isl::map> possible_values(const ExprPtr &expr, const ValueSite &site);

} // namespace tilewright
