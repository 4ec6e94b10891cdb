// The evaluator's view of an iteration domain at concrete parameter values: a bounding box, and a
// membership test that is a handful of integer dot products. isl is asked once, when the test is
// built; nothing here calls it afterwards.
#pragma once

#include "polyhedral/isl.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// `set` with every parameter that occurs in it fixed. Throws Error(Argument) for one without a
/// value.
isl::set fix_parameters(isl::set set, const std::map<std::string, std::int64_t> &parameters);

/// The smallest box around a set without free parameters; dense storage is indexed over it, row by
/// row.
struct Box {
  std::vector<std::int64_t> lower;
  std::vector<std::int64_t> extent; ///< all zero for an empty set of rank > 0
  std::int64_t points = 0;          ///< product of the extents (1 for a non-empty set of rank 0)

  /// Row-major position of a point, or -1 outside the box.
  std::int64_t offset(std::span<const std::int64_t> point) const;
  void point_at(std::int64_t offset, std::span<std::int64_t> point) const;
};

/// Throws Error(Argument) naming `what` when the set is unbounded or has more than `limit` points
/// in its box.
Box bounding_box(const isl::set &set, std::int64_t limit, const std::string &what);

/// Membership in a set without free parameters.
class DomainTest {
public:
  explicit DomainTest(const isl::set &set);

  bool contains(std::span<const std::int64_t> point);

private:
  /// A linear form over the point, then the existential variables: coefficients and a constant.
  struct Form {
    std::vector<std::int64_t> coefficients;
    std::int64_t constant = 0;
  };
  struct Division {
    Form numerator;
    std::int64_t denominator = 1;
    size_t position = 0;
  };
  struct Conjunction {
    std::vector<Division> divisions; ///< in an order in which each uses only earlier ones
    std::vector<Form> equalities;
    std::vector<Form> inequalities;
  };

  void add(const isl::basic_set &part);
  std::int64_t value(const Form &form) const;
  bool holds(const Conjunction &part);

  size_t rank_ = 0;
  std::vector<Conjunction> parts_;
  std::vector<std::int64_t> variables_; ///< scratch: the point, then the existential variables
};

} // namespace tilewright
