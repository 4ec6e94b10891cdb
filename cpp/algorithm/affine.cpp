#include "algorithm/affine.h"

#include "algorithm/affine_linear.h"
#include "algorithm/expression_depth.h"

#include <isl/aff.h>
#include <isl/space.h>

#include <cstdlib>
#include <utility>

namespace tilewright {

namespace {

isl_val *isl_integer(std::int64_t value) { return isl_val_int_from_si(isl_context().get(), value); }

isl::aff to_aff(const LinearForm &form, Conversion &at) {
  isl_space *raw = at.space.space().release();
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

std::optional<isl::pw_aff> general(const ExprPtr &expr, Conversion &at);
std::optional<isl::set> set_of(const ExprPtr &condition, Conversion &at);
std::optional<isl::set> comparison_set(Op comparison, const ExprPtr &a, const ExprPtr &b,
                                       Conversion &at);

isl::pw_aff constant_function(std::int64_t value, Conversion &at) {
  isl_local_space *local = isl_local_space_from_space(at.space.space().release());
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

std::optional<isl::pw_aff> binary_function(const Expr &expr, Conversion &at) {
  const auto a = general(expr.operands[0], at);
  const auto b = a ? general(expr.operands[1], at) : std::nullopt;
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

/// a / b as C has it, or what is left of a, for a constant b.
std::optional<isl::pw_aff> truncated_division(const Expr &expr, Conversion &at) {
  const auto divisor = constant_behind_casts(*expr.operands[1]);
  if (!is_exact(expr) || !divisor || *divisor == 0) {
    return std::nullopt;
  }
  const auto a = general(expr.operands[0], at);
  if (!a) {
    return std::nullopt;
  }
  // Towards zero is downwards where the quotient is positive.
  const isl::set above = isl::manage(isl_pw_aff_nonneg_set(a->copy()));
  const isl::pw_aff quotient = chosen(above, floor_divided(*a, std::abs(*divisor)),
                                      floor_divided(a->neg(), std::abs(*divisor)).neg());
  const isl::pw_aff with_sign = *divisor < 0 ? quotient.neg() : quotient;
  return expr.op == Op::TruncatedDivide
             ? with_sign
             : a->sub(with_sign.scale(isl::manage(isl_integer(*divisor))));
}

std::optional<isl::pw_aff> function_of_node(const ExprPtr &expr, Conversion &at) {
  if (!expr->type.is_integer() || may_wrap(*expr, at)) {
    return std::nullopt;
  }
  if (const auto form = to_linear(*expr, at)) {
    return isl::pw_aff(to_aff(*form, at));
  }
  switch (expr->kind) {
  case ExprKind::Constant: {
    const auto value = integer_constant(*expr);
    return value ? std::optional(constant_function(*value, at)) : std::nullopt;
  }
  case ExprKind::Cast:
    if (expr->operands[0]->type.is_bool()) {
      const auto condition = set_of(expr->operands[0], at);
      return condition ? std::optional(
                             chosen(*condition, constant_function(1, at), constant_function(0, at)))
                       : std::nullopt;
    }
    return keeps_value(expr->operands[0]->type, expr->type) ? general(expr->operands[0], at)
                                                            : std::nullopt;
  case ExprKind::Unary: {
    const auto operand = is_exact(*expr) && (expr->op == Op::Neg || expr->op == Op::Abs)
                             ? general(expr->operands[0], at)
                             : std::nullopt;
    if (!operand) {
      return std::nullopt;
    }
    return expr->op == Op::Neg ? operand->neg() : operand->max(operand->neg());
  }
  case ExprKind::Binary: {
    const bool wraps = expr->op != Op::Min && expr->op != Op::Max && !is_exact(*expr);
    return wraps ? std::nullopt : binary_function(*expr, at);
  }
  case ExprKind::Call:
    return expr->op == Op::TruncatedDivide || expr->op == Op::Fmod ? truncated_division(*expr, at)
                                                                   : std::nullopt;
  case ExprKind::Select: {
    const auto condition = set_of(expr->operands[0], at);
    const auto then = condition ? general(expr->operands[1], at) : std::nullopt;
    const auto otherwise = then ? general(expr->operands[2], at) : std::nullopt;
    return otherwise ? std::optional(chosen(*condition, *then, *otherwise)) : std::nullopt;
  }
  default:
    return std::nullopt;
  }
}

std::optional<isl::pw_aff> general(const ExprPtr &expr, Conversion &at) {
  return remembered(at.functions, *expr, [&] { return function_of_node(expr, at); });
}

/// form >= 0, or form == 0.
isl::set constraint_set(const LinearForm &form, bool equality, Conversion &at) {
  const isl::aff aff = to_aff(form, at);
  isl_aff *zero = isl_aff_zero_on_domain_space(isl_aff_get_domain_space(aff.get()));
  isl_basic_set *set =
      equality ? isl_aff_eq_basic_set(aff.copy(), zero) : isl_aff_ge_basic_set(aff.copy(), zero);
  return checked(isl::manage(isl_set_from_basic_set(set)), "building a constraint");
}

std::optional<isl::set> linear_comparison(Op op, const Expr &a, const Expr &b, Conversion &at) {
  const auto left = to_linear(a, at);
  const auto right = left ? to_linear(b, at) : std::nullopt;
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
  return constraint_set(difference, op == Op::Eq, at);
}

std::optional<isl::set> boolean_equality(const Expr &expr, Conversion &at) {
  const auto a = set_of(expr.operands[0], at);
  const auto b = a ? set_of(expr.operands[1], at) : std::nullopt;
  if (!b) {
    return std::nullopt;
  }
  const isl::set differ = a->subtract(*b).unite(b->subtract(*a));
  return expr.op == Op::Eq ? differ.complement() : differ;
}

std::optional<isl::set> boolean_combination(const Expr &expr, Conversion &at) {
  const auto a = set_of(expr.operands[0], at);
  const auto b = a ? set_of(expr.operands[1], at) : std::nullopt;
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

/// x % p for a constant p > 0.
struct Remainder {
  ExprPtr dividend;
  std::int64_t divisor = 0;
};

std::optional<Remainder> as_remainder(const Expr &expr) {
  if (expr.kind != ExprKind::Binary || expr.op != Op::Mod || !is_exact(expr)) {
    return std::nullopt;
  }
  const auto divisor = constant_behind_casts(*expr.operands[1]);
  return divisor && *divisor > 0 && is_small(*divisor)
             ? std::optional(Remainder{expr.operands[0], *divisor})
             : std::nullopt;
}

/// x % p != c is (x - c) mod p >= 1, which is convex; x % p < c or x % p > c are two sets, and many
/// such conditions would be 2**n.
std::optional<isl::set> other_remainders(const Expr &a, const Expr &b, Conversion &at) {
  const auto remainder = as_remainder(a);
  const auto value = constant_behind_casts(b);
  if (!remainder || !value || !is_small(*value)) {
    return std::nullopt;
  }
  const auto dividend = general(remainder->dividend, at);
  if (!dividend) {
    return std::nullopt;
  }
  if (*value < 0 || *value >= remainder->divisor) {
    return dividend->domain();
  }
  const isl::pw_aff shifted = dividend->sub(constant_function(*value, at));
  const isl::val divisor = isl::manage(isl_integer(remainder->divisor));
  const isl::pw_aff distance =
      shifted.sub(floor_divided(shifted, remainder->divisor).scale(divisor));
  return checked(distance.ge_set(constant_function(1, at)), "a condition on a remainder");
}

std::optional<isl::set> complement_of(const ExprPtr &operand, Conversion &at) {
  const Expr &node = *operand;
  if (node.kind == ExprKind::Binary && node.type.is_bool()) {
    const bool compares = node.op == Op::Eq || node.op == Op::Ne;
    if (compares && (as_remainder(*node.operands[0]) || as_remainder(*node.operands[1]))) {
      return comparison_set(node.op == Op::Eq ? Op::Ne : Op::Eq, node.operands[0], node.operands[1],
                            at);
    }
  }
  const auto set = set_of(operand, at);
  return set ? std::optional(set->complement()) : std::nullopt;
}

std::optional<isl::set> condition_set(const Expr &expr, Conversion &at) {
  if (!expr.type.is_bool()) {
    return std::nullopt;
  }
  switch (expr.kind) {
  case ExprKind::Constant: {
    const isl::set all = isl::set::universe(at.space.space());
    const bool *value = std::get_if<bool>(&expr.value);
    return value == nullptr ? std::nullopt : std::optional(*value ? all : all.subtract(all));
  }
  case ExprKind::Unary: {
    return expr.op == Op::Not ? complement_of(expr.operands[0], at) : std::nullopt;
  }
  case ExprKind::Cast: {
    const ExprPtr &operand = expr.operands[0];
    if (operand->type.is_bool()) {
      return set_of(operand, at);
    }
    const auto value = general(operand, at);
    return value ? std::optional(value->ne_set(constant_function(0, at))) : std::nullopt;
  }
  case ExprKind::Select: {
    const auto condition = set_of(expr.operands[0], at);
    const auto then = condition ? set_of(expr.operands[1], at) : std::nullopt;
    const auto otherwise = then ? set_of(expr.operands[2], at) : std::nullopt;
    return otherwise
               ? std::optional(condition->intersect(*then).unite(otherwise->subtract(*condition)))
               : std::nullopt;
  }
  case ExprKind::Binary:
    switch (expr.op) {
    case Op::Eq:
    case Op::Ne:
      if (expr.operands[0]->type.is_bool() && expr.operands[1]->type.is_bool()) {
        return boolean_equality(expr, at);
      }
      [[fallthrough]];
    case Op::Lt:
    case Op::Le:
    case Op::Gt:
    case Op::Ge:
      return comparison_set(expr.op, expr.operands[0], expr.operands[1], at);
    default:
      return boolean_combination(expr, at);
    }
  default:
    return std::nullopt;
  }
}

std::optional<isl::set> set_of(const ExprPtr &condition, Conversion &at) {
  return remembered(at.sets, *condition, [&] { return condition_set(*condition, at); });
}

std::optional<isl::set> comparison_set(Op comparison, const ExprPtr &a, const ExprPtr &b,
                                       Conversion &at) {
  if (!a->type.is_integer() || !b->type.is_integer()) {
    return std::nullopt;
  }
  if (may_wrap(*a, at) || may_wrap(*b, at)) {
    return std::nullopt;
  }
  if (comparison != Op::Ne) {
    if (auto linear = linear_comparison(comparison, *a, *b, at)) {
      return linear;
    }
  }
  if (comparison == Op::Ne) {
    for (const bool swapped : {false, true}) {
      if (auto others = other_remainders(swapped ? *b : *a, swapped ? *a : *b, at)) {
        return others;
      }
    }
  }
  const auto left = general(a, at);
  const auto right = left ? general(b, at) : std::nullopt;
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
  for (const ExprKind kind : {ExprKind::Access, ExprKind::Reduce, ExprKind::While, ExprKind::State,
                              ExprKind::Extern, ExprKind::Checked}) {
    if (contains_kind(expr, kind)) {
      return std::nullopt; // data: asked of each part of it, this would be a walk for each part
    }
  }
  require_stack(expr);
  Conversion at{space};
  auto result = general(expr, at);
  if (result) {
    checked(*result, "building an affine function");
  }
  return result;
}

std::optional<isl::set> to_set(const ExprPtr &condition, const IterationSpace &space) {
  require_stack(condition);
  Conversion at{space};
  auto result = set_of(condition, at);
  if (result) {
    checked(*result, "building the set of a condition");
  }
  return result;
}

std::optional<isl::set> compare(Op comparison, const ExprPtr &a, const ExprPtr &b,
                                const IterationSpace &space) {
  require_stack(a);
  require_stack(b);
  Conversion at{space};
  return comparison_set(comparison, a, b, at);
}

} // namespace tilewright
