// Values of isl as integers of 64 bits, where they are that: isl's numbers have no largest one, and
// its own conversion gives something else for those that do not fit.
#pragma once

#include <isl/isl-noexceptions.h>

#include <cstdint>
#include <optional>

namespace tilewright {

/// Nothing for fractions, infinities, what is no number, and what does not fit.
std::optional<std::int64_t> small_integer(const isl::val &value);

} // namespace tilewright
