#include "algorithm/affine.h"

#include "algorithm/expression_depth.h"

#include <isl/aff.h>
#include <isl/space.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

namespace tilewright {

namespace {

/// sum of coefficients times iterators and parameters, plus a constant: nearly every subscript and
/// bound is one.
struct LinearForm {
  std::vector<std::int64_t> iterators;
  std::vector<std::pair<std::string, std::int64_t>> parameters;
  std::int64_t constant = 0;
};

/// Coefficients stay far from overflow; larger ones are left to isl's integers.
constexpr std::int64_t coefficient_limit = std::int64_t{1} << 40;

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

/// Whether every value of integer type `from` exists in integer type `to`.
bool keeps_value(ScalarType from, ScalarType to) {
  if (!from.is_integer() || !to.is_integer()) {
    return false;
  }
  if (from.kind == to.kind) {
    return to.bits >= from.bits;
  }
  return from.kind == TypeKind::UInt && to.bits > from.bits;
}

/// Arithmetic wraps around in narrower types, so only int64's is taken as exact.
bool is_exact(const Expr &expr) { return expr.type == Int64; }

/// The value of an integer constant, seen through casts that keep it.
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

bool scale(LinearForm &form, std::int64_t factor) {
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

std::optional<LinearForm> to_linear(const Expr &expr, const IterationSpace &space) {
  LinearForm form;
  form.iterators.assign(space.iterators.size(), 0);
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
    const auto found = std::find(space.iterators.begin(), space.iterators.end(), expr.name);
    if (found == space.iterators.end()) {
      return std::nullopt;
    }
    form.iterators[found - space.iterators.begin()] = 1;
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
    return keeps_value(expr.operands[0]->type, expr.type) ? to_linear(*expr.operands[0], space)
                                                          : std::nullopt;
  case ExprKind::Unary: {
    auto operand =
        expr.op == Op::Neg && is_exact(expr) ? to_linear(*expr.operands[0], space) : std::nullopt;
    return operand && scale(*operand, -1) ? operand : std::nullopt;
  }
  case ExprKind::Binary: {
    if (!is_exact(expr) || (expr.op != Op::Add && expr.op != Op::Sub && expr.op != Op::Mul)) {
      return std::nullopt;
    }
    auto a = to_linear(*expr.operands[0], space);
    const auto b = a ? to_linear(*expr.operands[1], space) : std::nullopt;
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

isl_val *isl_integer(std::int64_t value) { return isl_val_int_from_si(isl_context().get(), value); }

isl::aff to_aff(const LinearForm &form, const IterationSpace &space) {
  isl_space *raw = space.space().release();
  unsigned used = 0;
  for (const auto &[name, coefficient] : form.parameters) {
    raw = isl_space_add_dims(raw, isl_dim_param, 1);
    raw = isl_space_set_dim_id(raw, isl_dim_param, used++,
                               isl_id_alloc(isl_context().get(), name.c_str(), nullptr));
  }
  isl_aff *aff = isl_aff_zero_on_domain_space(raw);
  for (unsigned p = 0; p < used; ++p) {
    aff = isl_aff_set_coefficient_val(aff, isl_dim_param, static_cast<int>(p),
                                      isl_integer(form.parameters[p].second));
  }
  for (size_t d = 0; d < form.iterators.size(); ++d) {
    if (form.iterators[d] != 0) {
      aff = isl_aff_set_coefficient_val(aff, isl_dim_in, static_cast<int>(d),
                                        isl_integer(form.iterators[d]));
    }
  }
  aff = isl_aff_set_constant_val(aff, isl_integer(form.constant));
  return checked(isl::manage(aff), "building an affine function");
}

std::optional<isl::pw_aff> general(const ExprPtr &expr, const IterationSpace &space);

isl::pw_aff constant_function(std::int64_t value, const IterationSpace &space) {
  isl_local_space *local = isl_local_space_from_space(space.space().release());
  return checked(isl::manage(isl_pw_aff_from_aff(isl_aff_val_on_domain(local, isl_integer(value)))),
                 "building a constant function");
}

/// floor(a / divisor) for a divisor that is not zero.
isl::pw_aff floor_divided(const isl::pw_aff &a, std::int64_t divisor) {
  const isl::pw_aff numerator = divisor < 0 ? a.neg() : a;
  const isl::val magnitude = isl::manage(isl_val_abs(isl_integer(divisor)));
  return numerator.scale_down(magnitude).floor();
}

isl::pw_aff chosen(const isl::set &condition, const isl::pw_aff &then,
                   const isl::pw_aff &otherwise) {
  return then.intersect_domain(condition).union_add(otherwise.subtract_domain(condition));
}

std::optional<isl::pw_aff> binary_function(const Expr &expr, const IterationSpace &space) {
  const auto a = general(expr.operands[0], space);
  const auto b = a ? general(expr.operands[1], space) : std::nullopt;
  if (!b) {
    return std::nullopt;
  }
  switch (expr.op) {
  case Op::Add:
    return a->add(*b);
  case Op::Sub:
    return a->sub(*b);
  case Op::Min:
    return a->min(*b);
  case Op::Max:
    return a->max(*b);
  case Op::Mul:
    if (isl_pw_aff_is_cst(a->get()) == isl_bool_true ||
        isl_pw_aff_is_cst(b->get()) == isl_bool_true) {
      return a->mul(*b);
    }
    return std::nullopt;
  case Op::FloorDiv:
  case Op::Mod: {
    const auto divisor = constant_behind_casts(*expr.operands[1]);
    if (!divisor || *divisor == 0) {
      return std::nullopt;
    }
    const isl::pw_aff quotient = floor_divided(*a, *divisor);
    return expr.op == Op::FloorDiv ? quotient
                                   : a->sub(quotient.scale(isl::manage(isl_integer(*divisor))));
  }
  default:
    return std::nullopt;
  }
}

constexpr double largest_exact = 0x1p62;

/// About the largest value that arithmetic on iterators and parameters comes by: where int64's may
/// wrap around, sets of integers, which do not, say something else. Data may be any number; what is
/// too large already is not looked at any further.
double magnitude(const Expr &expr) {
  constexpr double largest_iterator = 0x1p31;
  if (const auto value = integer_constant(expr)) {
    return std::abs(static_cast<double>(*value));
  }
  if (expr.kind == ExprKind::Access || expr.kind == ExprKind::Reduce) {
    return HUGE_VAL;
  }
  double first = expr.operands.empty() ? largest_iterator : magnitude(*expr.operands[0]);
  for (size_t k = 1; k < expr.operands.size() && first < largest_exact; ++k) {
    const double other = magnitude(*expr.operands[k]);
    first = expr.op == Op::Mul                         ? first * other
            : expr.op == Op::Add || expr.op == Op::Sub ? first + other
                                                       : std::max(first, other);
  }
  return first;
}

bool may_wrap(const Expr &expr) { return is_exact(expr) && !(magnitude(expr) < largest_exact); }

std::optional<isl::pw_aff> general(const ExprPtr &expr, const IterationSpace &space) {
  if (!expr->type.is_integer() || may_wrap(*expr)) {
    return std::nullopt;
  }
  if (const auto form = to_linear(*expr, space)) {
    return isl::pw_aff(to_aff(*form, space));
  }
  switch (expr->kind) {
  case ExprKind::Constant: {
    const auto value = integer_constant(*expr);
    return value ? std::optional(constant_function(*value, space)) : std::nullopt;
  }
  case ExprKind::Cast:
    if (expr->operands[0]->type.is_bool()) {
      const auto condition = to_set(expr->operands[0], space);
      return condition ? std::optional(chosen(*condition, constant_function(1, space),
                                              constant_function(0, space)))
                       : std::nullopt;
    }
    return keeps_value(expr->operands[0]->type, expr->type) ? general(expr->operands[0], space)
                                                            : std::nullopt;
  case ExprKind::Unary: {
    const auto operand = is_exact(*expr) && (expr->op == Op::Neg || expr->op == Op::Abs)
                             ? general(expr->operands[0], space)
                             : std::nullopt;
    if (!operand) {
      return std::nullopt;
    }
    return expr->op == Op::Neg ? operand->neg() : operand->max(operand->neg());
  }
  case ExprKind::Binary: {
    const bool wraps = expr->op != Op::Min && expr->op != Op::Max && !is_exact(*expr);
    return wraps ? std::nullopt : binary_function(*expr, space);
  }
  case ExprKind::Select: {
    const auto condition = to_set(expr->operands[0], space);
    const auto then = condition ? general(expr->operands[1], space) : std::nullopt;
    const auto otherwise = then ? general(expr->operands[2], space) : std::nullopt;
    return otherwise ? std::optional(chosen(*condition, *then, *otherwise)) : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

/// form >= 0, or form == 0.
isl::set constraint_set(const LinearForm &form, bool equality, const IterationSpace &space) {
  const isl::aff aff = to_aff(form, space);
  isl_aff *zero = isl_aff_zero_on_domain_space(isl_aff_get_domain_space(aff.get()));
  isl_basic_set *set =
      equality ? isl_aff_eq_basic_set(aff.copy(), zero) : isl_aff_ge_basic_set(aff.copy(), zero);
  return checked(isl::manage(isl_set_from_basic_set(set)), "building a constraint");
}

std::optional<isl::set> linear_comparison(Op op, const Expr &a, const Expr &b,
                                          const IterationSpace &space) {
  const auto left = to_linear(a, space);
  const auto right = left ? to_linear(b, space) : std::nullopt;
  if (!right) {
    return std::nullopt;
  }
  const bool less = op == Op::Lt || op == Op::Le;
  LinearForm difference = less ? *right : *left;
  if (!add(difference, less ? *left : *right, -1)) {
    return std::nullopt;
  }
  if (op == Op::Lt || op == Op::Gt) {
    difference.constant -= 1;
  }
  return constraint_set(difference, op == Op::Eq, space);
}

std::optional<isl::set> boolean_equality(const Expr &expr, const IterationSpace &space) {
  const auto a = to_set(expr.operands[0], space);
  const auto b = a ? to_set(expr.operands[1], space) : std::nullopt;
  if (!b) {
    return std::nullopt;
  }
  const isl::set differ = a->subtract(*b).unite(b->subtract(*a));
  return expr.op == Op::Eq ? differ.complement() : differ;
}

std::optional<isl::set> boolean_combination(const Expr &expr, const IterationSpace &space) {
  const auto a = to_set(expr.operands[0], space);
  const auto b = a ? to_set(expr.operands[1], space) : std::nullopt;
  if (!b) {
    return std::nullopt;
  }
  switch (expr.op) {
  case Op::And:
  case Op::Min:
    return a->intersect(*b);
  case Op::Or:
  case Op::Max:
    return a->unite(*b);
  case Op::Xor:
    return a->subtract(*b).unite(b->subtract(*a));
  default:
    return std::nullopt;
  }
}

std::optional<isl::set> condition_set(const Expr &expr, const IterationSpace &space) {
  if (!expr.type.is_bool()) {
    return std::nullopt;
  }
  switch (expr.kind) {
  case ExprKind::Constant: {
    const isl::set all = isl::set::universe(space.space());
    const bool *value = std::get_if<bool>(&expr.value);
    return value == nullptr ? std::nullopt : std::optional(*value ? all : all.subtract(all));
  }
  case ExprKind::Unary: {
    const auto operand = expr.op == Op::Not ? to_set(expr.operands[0], space) : std::nullopt;
    return operand ? std::optional(operand->complement()) : std::nullopt;
  }
  case ExprKind::Cast: {
    const ExprPtr &operand = expr.operands[0];
    if (operand->type.is_bool()) {
      return to_set(operand, space);
    }
    const auto value = general(operand, space);
    return value ? std::optional(value->ne_set(constant_function(0, space))) : std::nullopt;
  }
  case ExprKind::Select: {
    const auto condition = to_set(expr.operands[0], space);
    const auto then = condition ? to_set(expr.operands[1], space) : std::nullopt;
    const auto otherwise = then ? to_set(expr.operands[2], space) : std::nullopt;
    return otherwise
               ? std::optional(condition->intersect(*then).unite(otherwise->subtract(*condition)))
               : std::nullopt;
  }
  case ExprKind::Binary:
    switch (expr.op) {
    case Op::Eq:
    case Op::Ne:
      if (expr.operands[0]->type.is_bool() && expr.operands[1]->type.is_bool()) {
        return boolean_equality(expr, space);
      }
      [[fallthrough]];
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
      return compare(expr.op, expr.operands[0], expr.operands[1], space);
    default:
      return boolean_combination(expr, space);
    }
  default:
    return std::nullopt;
  }
}

} // namespace

isl::space IterationSpace::space() const {
  isl_ctx *context = isl_context().get();
  isl_space *raw = isl_space_set_alloc(context, 0, static_cast<unsigned>(iterators.size()));
  for (size_t d = 0; d < iterators.size(); ++d) {
    isl_id *id = isl_id_alloc(context, iterators[d].c_str(), nullptr);
    raw = isl_space_set_dim_id(raw, isl_dim_set, static_cast<unsigned>(d), id);
  }
  if (!name.empty()) {
    raw = isl_space_set_tuple_name(raw, isl_dim_set, name.c_str());
  }
  return checked(isl::manage(raw), "building an iteration space");
}

std::optional<isl::pw_aff> to_affine(const ExprPtr &expr, const IterationSpace &space) {
  require_stack(expr);
  auto result = general(expr, space);
  if (result) {
    checked(*result, "building an affine function");
  }
  return result;
}

std::optional<isl::set> to_set(const ExprPtr &condition, const IterationSpace &space) {
  require_stack(condition);
  auto result = condition_set(*condition, space);
  if (result) {
    checked(*result, "building the set of a condition");
  }
  return result;
}

std::optional<isl::set> compare(Op comparison, const ExprPtr &a, const ExprPtr &b,
                                const IterationSpace &space) {
  if (!a->type.is_integer() || !b->type.is_integer()) {
    return std::nullopt;
  }
  require_stack(a);
  require_stack(b);
  if (may_wrap(*a) || may_wrap(*b)) {
    return std::nullopt;
  }
  if (comparison != Op::Ne) {
    if (auto linear = linear_comparison(comparison, *a, *b, space)) {
      return linear;
    }
  }
  const auto left = general(a, space);
  const auto right = left ? general(b, space) : std::nullopt;
  if (!right) {
    return std::nullopt;
  }
  switch (comparison) {
  case Op::Lt:
    return checked(left->lt_set(*right), "comparing two functions");
  case Op::Le:
    return checked(left->le_set(*right), "comparing two functions");
  case Op::Gt:
    return checked(left->gt_set(*right), "comparing two functions");
  case Op::Ge:
    return checked(left->ge_set(*right), "comparing two functions");
  case Op::Eq:
    return checked(left->eq_set(*right), "comparing two functions");
  case Op::Ne:
    return checked(left->ne_set(*right), "comparing two functions");
  default:
    return std::nullopt;
  }
}

} // namespace tilewright
