// How many integer points a bounded set has. Sets that are products are counted factor by factor:
// what connects dimensions is enumerated, one dimension at a time, until nothing does, so a box
// takes one step, a triangle as many as it has rows.
#pragma once

#include "polyhedral/isl.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace tilewright {

/// The set at these parameter values, without parameters. Those that are not named stay.
isl::set at_parameters(const isl::set &set, const std::map<std::string, std::int64_t> &values);

/// The points of a set without parameters; nothing where it is not bounded, where they are more
/// than 2^63, or where counting takes more than `steps`.
std::optional<std::int64_t> count_points(const isl::set &set, std::int64_t steps = 4'000'000);

} // namespace tilewright
