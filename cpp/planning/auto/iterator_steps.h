// Iterators that count in steps, as those of for (i = 1; i < n; i += 2) do: neighbours among their
// values are some numbers apart.
#pragma once

#include "polyhedral/isl.h"

#include <cstddef>
#include <cstdint>

namespace tilewright {

/// How far apart neighbouring values of an iterator are where the others stay: 1 unless all values
/// are a multiple of it away from each other. Where they begin may depend on the other iterators,
/// as in the red and black points of a grid.
std::int64_t step_of(const isl::set &domain, size_t iterator);

/// x -> x with the iterator at its next value, `step` away.
isl::multi_aff next_value(const isl::set &domain, size_t iterator, std::int64_t step);

/// Does the value grow by one wherever the iterator takes its next value, `step` away?
bool counts(const isl::pw_aff &value, const isl::set &domain, size_t iterator, std::int64_t step);

} // namespace tilewright
