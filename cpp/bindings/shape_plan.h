// How a call finds the parameters: array extents are affine in the parameters; those with one
// unknown are solved, all are checked. Made once for a function, then used at every call without
// isl or Python.
#pragma once

#include "algorithm/function.h"

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

/// One extent as a function of the parameters' values: constant + sum of coefficient * parameter
/// where it is linear, else the expression itself (bounding boxes may need min, max and select).
class Extent {
public:
  /// Throws Error(Internal) for an expression that is not made of parameters and integer
  /// arithmetic.
  Extent(ExprPtr expression, const std::vector<std::string> &parameters);

  /// What no 64 bits hold is the largest or least number that they do: no array is as long.
  std::int64_t evaluate(const std::int64_t *parameters) const;
  /// The figure itself, as far as 127 bits hold it.
  std::string exact_text(const std::int64_t *parameters) const;
  bool is_linear() const { return linear_; }
  std::int64_t constant() const { return constant_; }
  const std::vector<std::pair<int, std::int64_t>> &terms() const {
    return terms_;
  } ///< parameter, coefficient
  const ExprPtr &expression() const { return expression_; }
  /// The positions of all parameters that occur.
  const std::vector<int> &parameters() const { return used_; }
  /// Exactly one parameter with coefficient one and nothing else.
  bool is_plain_parameter() const;

private:
  ExprPtr expression_;
  std::vector<std::string> names_;
  bool linear_ = false;
  std::int64_t constant_ = 0;
  std::vector<std::pair<int, std::int64_t>> terms_;
  std::vector<int> used_;
};

/// Which axis of which array gives a parameter.
struct SolveStep {
  int argument = 0;
  int axis = 0;
  int parameter = 0;
};

/// A constraint on parameters: coefficients of them, then the constant; at least 0, or 0.
struct ContextRow {
  std::vector<std::int64_t> coefficients;
  bool is_equality = false;
};
/// A disjunction of conjunctions.
using ContextRows = std::vector<std::vector<ContextRow>>;
bool holds(const ContextRows &rows, const std::int64_t *parameters);

/// The constraints on parameters as integer rows, so that a call checks them without isl.
class ContextCheck {
public:
  ContextCheck(const isl::set &context, const std::vector<std::string> &parameters);
  bool holds(const std::int64_t *parameters) const;
  /// Null where only isl can tell.
  const ContextRows *rows() const { return needs_isl_ ? nullptr : &parts_; }

private:
  using Row = ContextRow;
  using Conjunction = std::vector<Row>;
  bool holds_by_isl(const std::int64_t *parameters) const;

  ContextRows parts_;
  std::shared_ptr<const isl::set> context_;
  std::vector<std::string> names_;
  bool needs_isl_ = false;
};

/// Steps in an order in which every step has one unknown; `known` tells which parameters are known
/// at the start. Extents of one coefficient 1 go first.
std::vector<SolveStep> plan_steps(const std::vector<std::vector<Extent>> &arguments,
                                  std::vector<bool> known);

/// Whether the pieces of a computation fill its whole array for all parameters of the context.
/// Anything that cannot be decided counts as no.
bool covers_array(const Computation &computation, const isl::set &context);

} // namespace tilewright
