// Sets of integer points and relations between them, as values: named unions, which isl calls union
// sets and union maps. A value never changes; each operation makes another one, within an operation
// limit and with isl's lock, which whoever copies or frees a value must have, too (isl_lock.h).
// What cannot be answered is Error(Set), with the operation's name first.
#pragma once

#include "polyhedral/isl.h"
#include "polyhedral/tuple_shape.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

class IntegerMap;

/// The smallest sets of a kind around what is given, one for each tuple: of the shifted constraints
/// that are there, convex, of equations only, and of constraints without division.
enum class Hull { Simple, Convex, Affine, Polyhedral };

class IntegerSet {
public:
  explicit IntegerSet(const isl::union_set &points) : points_(checked(points, "a set")) {}
  /// Of isl's notation; parameters need not be listed. Throws Error(Set) with the column.
  static IntegerSet read(const std::string &text);

  const isl::union_set &points() const { return points_; }
  std::string text() const;
  /// Those that are listed, used or not.
  std::vector<std::string> parameters() const;
  /// In the order of their text.
  std::vector<TupleShape> tuples() const;
  /// Which tuples have points; the same for equal sets.
  std::string spaces() const;
  /// Whether it is a set of parameter values: "[N] -> { : N > 3 }".
  bool is_parameter_set() const;

  // ---- questions, which are about all values of the parameters ----
  bool is_empty() const;
  bool equals(const IntegerSet &other) const;
  bool is_subset(const IntegerSet &other) const;

  // ---- of several sets ----
  IntegerSet unite(const IntegerSet &other) const;
  IntegerSet intersect(const IntegerSet &other) const;
  IntegerSet subtract(const IntegerSet &other) const;
  /// The wrapped pairs: "{ [A[i] -> B[j]] }".
  IntegerSet product(const IntegerSet &other) const;
  /// What is left of the constraints where those of `context` hold anyway.
  IntegerSet gist(const IntegerSet &context) const;
  IntegerSet apply(const IntegerMap &map) const;
  /// Pairs of a point of this and a lexicographically greater one of the other; or, the same one.
  IntegerMap before(const IntegerSet &other, bool or_same) const;

  // ---- of one set ----
  IntegerSet lexmin() const;
  IntegerSet lexmax() const;
  IntegerSet coalesce() const;
  IntegerSet hull(Hull kind) const;
  /// Without some dimensions of its only tuple, which loses its name.
  IntegerSet project_out(const std::vector<unsigned> &positions) const;
  IntegerMap identity() const;
  /// The relation of wrapped pairs.
  IntegerMap unwrap() const;

  // ---- parameters ----
  /// The values for which it has points.
  IntegerSet parameter_values() const;
  IntegerSet intersect_parameters(const IntegerSet &values) const;
  /// At some values; these are no parameters of the result.
  IntegerSet fix(const std::map<std::string, std::int64_t> &values) const;
  /// What is there for some value of these.
  IntegerSet project_out_parameters(const std::vector<std::string> &names) const;

private:
  isl::union_set points_;
};

class IntegerMap {
public:
  explicit IntegerMap(const isl::union_map &pairs) : pairs_(checked(pairs, "a map")) {}
  static IntegerMap read(const std::string &text);

  const isl::union_map &pairs() const { return pairs_; }
  std::string text() const;
  std::vector<std::string> parameters() const;
  /// Each with its domain and range nested in it.
  std::vector<TupleShape> tuples() const;
  std::string spaces() const;

  bool is_empty() const;
  bool equals(const IntegerMap &other) const;
  bool is_subset(const IntegerMap &other) const;
  bool is_single_valued() const;
  bool is_injective() const;

  IntegerMap unite(const IntegerMap &other) const;
  IntegerMap intersect(const IntegerMap &other) const;
  IntegerMap subtract(const IntegerMap &other) const;
  IntegerMap product(const IntegerMap &other) const;
  /// "{ A[i] -> [B[j] -> C[k]] }" of A -> B and A -> C.
  IntegerMap range_product(const IntegerMap &other) const;
  IntegerMap gist(const IntegerMap &context) const;
  /// x -> z where this has x -> y and the other one y -> z.
  IntegerMap apply_range(const IntegerMap &other) const;
  /// z -> y where this has x -> y and the other one x -> z.
  IntegerMap apply_domain(const IntegerMap &other) const;
  IntegerMap intersect_domain(const IntegerSet &set) const;
  IntegerMap intersect_range(const IntegerSet &set) const;
  IntegerMap subtract_domain(const IntegerSet &set) const;
  IntegerMap subtract_range(const IntegerSet &set) const;

  IntegerMap reverse() const;
  IntegerSet domain() const;
  IntegerSet range() const;
  /// y - x of pairs x -> y in one space.
  IntegerSet deltas() const;
  IntegerSet wrap() const;
  /// Of each point of the domain, the smallest or greatest one of each tuple it is related to.
  IntegerMap lexmin() const;
  IntegerMap lexmax() const;
  IntegerMap coalesce() const;
  IntegerMap hull(Hull kind) const;
  /// Without some dimensions of the domain's or the range's only tuple.
  IntegerMap project_out(bool of_range, const std::vector<unsigned> &positions) const;
  /// So many steps; less than none, in the other direction. Not zero.
  IntegerMap power(std::int64_t steps) const;
  /// One or more steps, and whether that is all that is in it: isl may find a larger relation.
  std::pair<IntegerMap, bool> transitive_closure() const;

  IntegerSet parameter_values() const;
  IntegerMap intersect_parameters(const IntegerSet &values) const;
  IntegerMap fix(const std::map<std::string, std::int64_t> &values) const;
  IntegerMap project_out_parameters(const std::vector<std::string> &names) const;

private:
  isl::union_map pairs_;
};

/// Throws Error(Set) unless each of the names is a parameter that the text of a value lists.
void require_parameters(const std::vector<std::string> &names,
                        const std::vector<std::string> &parameters, const char *what);

} // namespace tilewright
