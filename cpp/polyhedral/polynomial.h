// Polynomials with integer divisions over the parameters of a space, and their sums over one of
// them in closed form: isl's quasi-polynomials as C++ values.
#pragma once

#include "polyhedral/isl.h"

#include <isl/polynomial.h>

#include <memory>
#include <vector>

namespace tilewright {

class Polynomial {
public:
  /// A function of parameters only.
  explicit Polynomial(const isl::aff &function);
  static Polynomial one(const isl::space &space);

  isl_qpolynomial *copy() const { return isl_qpolynomial_copy(polynomial_.get()); }

  Polynomial operator+(const Polynomial &other) const;
  Polynomial operator-(const Polynomial &other) const;
  Polynomial operator*(const Polynomial &other) const;
  Polynomial operator/(const isl::val &divisor) const;
  Polynomial operator*(const isl::val &factor) const;
  Polynomial power(unsigned exponent) const;

  /// Whether the parameter at this position stands inside an integer division.
  bool divides(unsigned position) const;
  /// The sum of the values at lower, lower + step, ..., lower + count * step of the parameter at
  /// this position, which must not stand inside divisions.
  Polynomial sum(unsigned position, const Polynomial &lower, const isl::val &step,
                 const Polynomial &count) const;

  /// The same on the space without so many parameters from the first on, which it does not need.
  Polynomial without(unsigned first, unsigned count) const;

private:
  struct Term;
  explicit Polynomial(isl_qpolynomial *taken);
  std::vector<Term> terms(unsigned position) const;
  static std::vector<Polynomial> sums_of_powers(const Polynomial &n, unsigned largest);

  std::shared_ptr<isl_qpolynomial> polynomial_;
};

} // namespace tilewright
