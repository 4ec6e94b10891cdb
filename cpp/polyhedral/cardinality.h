// How many points a set has, as a function of its parameters: polynomials with integer divisions,
// one for each part of the parameter space. One dimension after the other is summed up in closed
// form (Faulhaber), where its values between two bounds are all there, or each s-th of them; if
// need be, for each remainder of a dimension by itself. Not every set can be counted so (Barvinok's
// algorithm, which can, is not in isl), but what is found is exact.
#pragma once

#include "polyhedral/integer_set.h"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

struct isl_pw_qpolynomial;

namespace tilewright {

class Cardinality {
public:
  /// Takes the polynomial.
  explicit Cardinality(isl_pw_qpolynomial *polynomial);

  /// "[N] -> { (1/2 * N + 1/2 * N^2) : N > 0 }"; zero elsewhere.
  std::string text() const;
  std::vector<std::string> parameters() const;
  /// The number of points, in decimal. Throws Error(Set) unless each parameter has a value.
  std::string at(const std::map<std::string, std::int64_t> &values) const;

private:
  std::shared_ptr<isl_pw_qpolynomial> polynomial_;
};

/// Nothing where no dimension can be summed up. Throws Error(Set) where there are infinitely many.
std::optional<Cardinality> cardinality_of(const IntegerSet &set);

} // namespace tilewright
