#include "algorithm/affine_linear.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace tilewright {

/// Coefficients stay far from overflow; larger ones are left to isl's integers.
static constexpr std::int64_t coefficient_limit = std::int64_t{1} << 40;

bool is_small(std::int64_t value) {
  return value > -coefficient_limit && value < coefficient_limit;
}

std::optional<std::int64_t> integer_constant(const Expr &expr) {
  if (expr.kind != ExprKind::Constant || !expr.type.is_integer()) {
    return std::nullopt;
  }
  if (const auto *value = std::get_if<std::int64_t>(&expr.value)) {
    return *value;
  }
  if (const auto *value = std::get_if<std::uint64_t>(&expr.value)) {
    if (*value <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return static_cast<std::int64_t>(*value);
    }
  }
  return std::nullopt;
}

bool keeps_value(ScalarType from, ScalarType to) {
  if (!from.is_integer() || !to.is_integer()) {
    return false;
  }
  if (from.kind == to.kind) {
    return to.bits >= from.bits;
  }
  return from.kind == TypeKind::UInt && to.bits > from.bits;
}

std::optional<std::int64_t> constant_behind_casts(const Expr &expr) {
  if (expr.kind == ExprKind::Constant) {
    return integer_constant(expr);
  }
  if (expr.kind == ExprKind::Cast && expr.type == Int64 && expr.operands[0]->type.is_integer()) {
    return constant_behind_casts(*expr.operands[0]);
  }
  if (expr.kind == ExprKind::Unary && expr.op == Op::Neg && is_exact(expr)) {
    const auto value = constant_behind_casts(*expr.operands[0]);
    return value && is_small(*value) ? std::optional(-*value) : std::nullopt;
  }
  return std::nullopt;
}

static bool scale(LinearForm &form, std::int64_t factor) {
  bool fits = is_small(factor);
  const auto multiply = [&](std::int64_t &value) {
    std::int64_t product = 0;
    if (__builtin_mul_overflow(value, factor, &product) || !is_small(product)) {
      fits = false;
      return;
    }
    value = product;
  };
  for (std::int64_t &coefficient : form.iterators) {
    multiply(coefficient);
  }
  for (auto &[name, coefficient] : form.parameters) {
    multiply(coefficient);
  }
  multiply(form.constant);
  return fits;
}

bool add(LinearForm &form, const LinearForm &other, std::int64_t sign) {
  for (size_t d = 0; d < form.iterators.size(); ++d) {
    form.iterators[d] += sign * other.iterators[d];
    if (!is_small(form.iterators[d])) {
      return false;
    }
  }
  for (const auto &[name, coefficient] : other.parameters) {
    auto found = std::find_if(form.parameters.begin(), form.parameters.end(),
                              [&name = name](const auto &entry) { return entry.first == name; });
    if (found == form.parameters.end()) {
      form.parameters.emplace_back(name, 0);
      found = std::prev(form.parameters.end());
    }
    found->second += sign * coefficient;
    if (!is_small(found->second)) {
      return false;
    }
  }
  form.constant += sign * other.constant;
  return is_small(form.constant);
}

static std::optional<LinearForm> linear_of_node(const Expr &expr, Conversion &at) {
  LinearForm form;
  form.iterators.assign(at.space.iterators.size(), 0);
  switch (expr.kind) {
  case ExprKind::Constant: {
    const auto value = integer_constant(expr);
    if (!value || !is_small(*value)) {
      return std::nullopt;
    }
    form.constant = *value;
    return form;
  }
  case ExprKind::Iterator: {
    const auto found = std::find(at.space.iterators.begin(), at.space.iterators.end(), expr.name);
    if (found == at.space.iterators.end()) {
      return std::nullopt;
    }
    form.iterators[found - at.space.iterators.begin()] = 1;
    return form;
  }
  case ExprKind::Parameter:
    form.parameters.emplace_back(expr.name, 1);
    return form;
  case ExprKind::Cast:
    if (const auto value = constant_behind_casts(expr); value && is_small(*value)) {
      form.constant = *value;
      return form;
    }
    return keeps_value(expr.operands[0]->type, expr.type) ? to_linear(*expr.operands[0], at)
                                                          : std::nullopt;
  case ExprKind::Unary: {
    auto operand =
        expr.op == Op::Neg && is_exact(expr) ? to_linear(*expr.operands[0], at) : std::nullopt;
    return operand && scale(*operand, -1) ? operand : std::nullopt;
  }
  case ExprKind::Binary: {
    if (!is_exact(expr) || (expr.op != Op::Add && expr.op != Op::Sub && expr.op != Op::Mul)) {
      return std::nullopt;
    }
    auto a = to_linear(*expr.operands[0], at);
    const auto b = a ? to_linear(*expr.operands[1], at) : std::nullopt;
    if (!b) {
      return std::nullopt;
    }
    if (expr.op != Op::Mul) {
      return add(*a, *b, expr.op == Op::Add ? 1 : -1) ? a : std::nullopt;
    }
    const auto is_constant = [](const LinearForm &f) {
      return std::all_of(f.iterators.begin(), f.iterators.end(),
                         [](std::int64_t c) { return c == 0; }) &&
             std::all_of(f.parameters.begin(), f.parameters.end(),
                         [](const auto &p) { return p.second == 0; });
    };
    if (is_constant(*b)) {
      return scale(*a, b->constant) ? a : std::nullopt;
    }
    auto other = b;
    return is_constant(*a) && scale(*other, a->constant) ? other : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

std::optional<LinearForm> to_linear(const Expr &expr, Conversion &at) {
  return remembered(at.linear, expr, [&] { return linear_of_node(expr, at); });
}

static constexpr double largest_exact = 0x1p62;

/// About the largest value that arithmetic on iterators and parameters comes by: where int64's may
/// wrap around, sets of integers, which do not, say something else. Data may be any number; what is
/// too large already is not looked at any further.
static double magnitude(const Expr &expr, Conversion &at);

static double magnitude_of_node(const Expr &expr, Conversion &at) {
  constexpr double largest_iterator = 0x1p31;
  if (const auto value = integer_constant(expr)) {
    return std::abs(static_cast<double>(*value));
  }
  if (expr.kind == ExprKind::Access || expr.kind == ExprKind::Reduce ||
      expr.kind == ExprKind::Checked) {
    return HUGE_VAL;
  }
  double first = expr.operands.empty() ? largest_iterator : magnitude(*expr.operands[0], at);
  for (size_t k = 1; k < expr.operands.size() && first < largest_exact; ++k) {
    const double other = magnitude(*expr.operands[k], at);
    first = expr.op == Op::Mul                         ? first * other
            : expr.op == Op::Add || expr.op == Op::Sub ? first + other
                                                       : std::max(first, other);
  }
  return first;
}

static double magnitude(const Expr &expr, Conversion &at) {
  return remembered(at.magnitudes, expr, [&] { return magnitude_of_node(expr, at); });
}

bool may_wrap(const Expr &expr, Conversion &at) {
  return is_exact(expr) && !(magnitude(expr, at) < largest_exact);
}

} // namespace tilewright
