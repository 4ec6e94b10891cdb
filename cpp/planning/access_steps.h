// How the accesses of a computation move through memory from one iteration of a loop to the next:
// what says which loop is to be a vector.
#pragma once

#include "polyhedral/isl.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace tilewright {

/// How an access moves from one iteration of a loop to the next.
enum class Step { None, Unit, Other };

/// An access of one computation: its subscripts as functions of all scheduled iterators.
struct Access {
  std::string array;
  std::vector<std::optional<isl::pw_aff>> subscripts; ///< nothing where one is not affine
  /// By dimension, the iterators that a subscript which is not affine, such as p[i], depends on: of
  /// all others it is a constant.
  std::vector<std::set<size_t>> chosen_by;
  std::int64_t bytes = 0;                           ///< of an element
  bool conditional = false;                         ///< whether it is read depends on a condition
  const void *node = nullptr;                       ///< the expression, to be told from others
  std::vector<std::optional<std::int64_t>> extents; ///< of the array, where they are numbers
  std::vector<std::int64_t> periods; ///< iterations of a step, by iterator: 1 where it is empty

  /// How far a subscript moves from one iteration, or as many as a period has, to the next: nothing
  /// where that differs.
  std::optional<std::int64_t> coefficient(size_t dimension, size_t iterator) const;
  /// The fewest iterations in which all subscripts move by a number of elements that is the same
  /// everywhere, as x // 2 does by one in two: nothing where that is no small number.
  std::optional<std::int64_t> period(size_t iterator) const;
  Step step(size_t iterator) const;
  /// By how many elements of memory it moves, in an array without gaps; nothing where that is no
  /// number.
  std::optional<std::int64_t> distance(size_t iterator) const;
  /// The dimension, other than the last one, that alone moves, by one element; nothing elsewhere.
  std::optional<size_t> strided_dimension(size_t iterator) const;
  /// Does a subscript change its form, as a clamped one does?
  bool has_border() const;
  bool is_affine() const;

private:
  /// The same in so many iterations.
  std::optional<std::int64_t> moved(size_t dimension, size_t iterator, std::int64_t count) const;
};

} // namespace tilewright
