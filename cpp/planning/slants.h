// Ranges of terms that move along with a result, as in
//     y[i] = sum of x[q], q from i to i + 10
// Counted from where they begin they are a window like that of x[i + r], r from 0 to 10: the loop
// over them stands outside of a vector of results, has registers for a tile, can be written out.
#pragma once

#include "mapping/mapping.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace tilewright {

/// Both bounds of an iterator move along with others, or with none: it begins at
/// `begin` + the sum of factor * iterator, and maybe parameters.
struct Slant {
  size_t iterator = 0;
  std::vector<std::pair<size_t, std::int64_t>> along; ///< iterators and their factors
  std::int64_t begin = 0;                             ///< 0 where parameters say where it begins
};

/// Of the iterators from `first` on, in their order: along ones before it that have no slant. Other
/// bounds, as those of a border, may cut a range short.
std::vector<Slant> find_slants(const InstanceSpace &instances, size_t first);

/// From the instances counted so to those that they are.
isl::multi_aff from_begin(const InstanceSpace &instances, const std::vector<Slant> &slants);

} // namespace tilewright
