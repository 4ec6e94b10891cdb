// What affine.cpp and affine_linear.cpp share: sums of iterators and parameters, which nearly every
// subscript and bound is, and what is known of the nodes of an expression.
#pragma once

#include "algorithm/affine.h"
#include "polyhedral/interruption.h"

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tilewright {

/// sum of coefficients times iterators and parameters, plus a constant: nearly every subscript and
/// bound is one.
struct LinearForm {
  std::vector<std::int64_t> iterators;
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  std::int64_t constant = 0;
};

/// What is known of the nodes of expressions in one space, so that each is looked at once.
struct Conversion {
  const IterationSpace &space;
  std::unordered_map<const Expr *, std::optional<LinearForm>> linear = {};
  std::unordered_map<const Expr *, double> magnitudes = {};
  std::unordered_map<const Expr *, std::optional<isl::pw_aff>> functions = {};
  std::unordered_map<const Expr *, std::optional<isl::set>> sets = {};
};

template <class Result, class Compute>
Result remembered(std::unordered_map<const Expr *, Result> &known, const Expr &expr,
                  const Compute &compute) {
  if (expr.operands.empty()) {
    return compute();
  }
  if (const auto found = known.find(&expr); found != known.end()) {
    return found->second;
  }
  count_visit();
  Result result = compute();
  known.emplace(&expr, result);
  return result;
}

bool is_small(std::int64_t value);
std::optional<std::int64_t> integer_constant(const Expr &expr);
/// Whether every value of integer type `from` exists in integer type `to`.
bool keeps_value(ScalarType from, ScalarType to);
/// Arithmetic wraps around in narrower types, so only int64's is taken as exact.
inline bool is_exact(const Expr &expr) { return expr.type == Int64; }
/// The value of an integer constant, seen through casts that keep it.
std::optional<std::int64_t> constant_behind_casts(const Expr &expr);
/// form += sign * other; false where a coefficient is not small.
bool add(LinearForm &form, const LinearForm &other, std::int64_t sign);
std::optional<LinearForm> to_linear(const Expr &expr, Conversion &at);
/// May int64 arithmetic on iterators and parameters pass 64 bits? Sets of integers do not wrap
/// around.
bool may_wrap(const Expr &expr, Conversion &at);

} // namespace tilewright
