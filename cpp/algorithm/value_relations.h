// Relations from instances to integers: the ground on which possible_values stands.
#pragma once

#include "polyhedral/isl.h"

#include <optional>
#include <string>

namespace tilewright {

inline constexpr const char *doing_possible_values = "what a subscript may be";
/// Arithmetic on larger numbers may wrap around.
inline constexpr double largest_value = 0x1p60;

/// { space[i] -> [v] }, and between which numbers all v are.
struct Values {
  isl::map pairs;
  double lo = 0;
  double hi = 0;

  bool may_wrap() const { return lo < -largest_value || hi > largest_value; }
};
/// Nothing: they may be anything.
using Possible = std::optional<Values>;

/// Takes the relation; nothing where it has so many pieces that they would cost more than they
/// tell.
Possible kept(isl_map *pairs, double lo, double hi);
/// Of arithmetic, which wraps around beyond 64 bits.
Possible computed(isl_map *pairs, double lo, double hi);
isl::map any_value(const isl::set &instances);
Possible between(const isl::set &instances, double lo, double hi);
/// { [a] -> [v] } of isl's text.
isl::map value_relation(const std::string &conditions);
isl_map *then(const Values &values, const isl::map &next);
isl_map *sum(const Values &a, const Values &b, bool negate);
/// The values of both.
Possible either(const Possible &a, const Possible &b);

} // namespace tilewright
