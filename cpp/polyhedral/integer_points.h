// The points of a set one by one, some of them, and how many there are, at given values of all
// parameters. All answers are exact, or there is none: Error(Set) where a set has no end or depends
// on a parameter that has no value, Error(Limit) where it would take too long.
#pragma once

#include "polyhedral/integer_set.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct IntegerPoint {
  size_t tuple = 0; ///< which of the shapes
  std::vector<std::int64_t> coordinates;
};

struct IntegerPoints {
  std::vector<TupleShape> tuples;
  std::vector<IntegerPoint> points; ///< by tuple, then lexicographically
};

/// All points, if they are at most `most`.
IntegerPoints points_of(const IntegerSet &set, size_t most);

struct SampledPoint {
  TupleShape tuple;
  std::vector<std::int64_t> coordinates;
  std::vector<std::pair<std::string, std::int64_t>> parameters; ///< for which it is there
};

/// A small point at small values of the parameters; nothing where the set is empty.
std::optional<SampledPoint> sample_of(const IntegerSet &set);

/// How many points there are, in decimal.
std::string count_of(const IntegerSet &set);

/// Whether a set of one point is in another set; an Error(Set) says for which values of the
/// parameters, where these decide.
bool contains(const IntegerSet &set, const IntegerSet &point);

} // namespace tilewright
