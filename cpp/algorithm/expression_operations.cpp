// The builders of operations: each brings its operands to one type, as operations.def says, and
// refuses what it is not defined on.
#include "algorithm/compositions.h"
#include "algorithm/expression.h"
#include "algorithm/expression_nodes.h"
#include "polyhedral/counted.h"

#include <utility>

namespace tilewright {

using namespace nodes;

namespace {

bool is_negative_constant(const Operand &operand) {
  if (const WeakNumber *weak = std::get_if<WeakNumber>(&operand)) {
    const std::optional<IntegerValue> integer = as_integer(weak->value);
    return integer && integer->negative;
  }
  const ExprPtr &expr = std::get<ExprPtr>(operand);
  if (expr->kind == ExprKind::Constant) {
    const std::optional<IntegerValue> integer = as_integer(expr->value);
    return integer && integer->negative;
  }
  if (expr->kind == ExprKind::Cast) {
    return is_negative_constant(Operand(expr->operands[0]));
  }
  if (expr->kind == ExprKind::Unary && expr->op == Op::Neg &&
      expr->operands[0]->kind == ExprKind::Constant) {
    const std::optional<IntegerValue> integer = as_integer(expr->operands[0]->value);
    return integer && !integer->negative && integer->magnitude > 0;
  }
  return false;
}

std::string operand_text(const Operand &operand) {
  if (const ExprPtr *expr = std::get_if<ExprPtr>(&operand)) {
    return type_name((*expr)->type);
  }
  return "Python " + std::string(natural_type(std::get<WeakNumber>(operand)) == Bool ? "bool"
                                 : is_weak_integer(std::get<WeakNumber>(operand))    ? "int"
                                 : std::get<WeakNumber>(operand).kind == TypeKind::Complex
                                     ? "complex"
                                     : "float");
}

/// What an operation is defined on instead, or "".
std::string hint_for(Op op, ScalarType type) {
  const Operation &row = operation(op);
  if (type.is_bool()) {
    return op == Op::Sub   ? "; use '^' for exclusive or, or cast to an integer first"
           : op == Op::Neg ? "; use '~' for not, or cast to an integer first"
                           : "; cast to an integer first";
  }
  if (!row.takes(Float64)) {
    return row.takes(Bool) || row.operands == OperandRule::Widened
               ? "; it is defined for bool and integers only"
               : "; it is defined for integers only";
  }
  return "";
}

[[noreturn]] void refuse_operands(Op op, const Operand &a, const Operand &b) {
  std::string hint;
  const ScalarType left = type_beside(a, b);
  const ScalarType right = type_beside(b, a);
  const ScalarType both = promote(left, right);
  if (both.is_complex()) {
    hint = "; complex numbers have no order, no floor and no remainder";
  } else if (left.is_integer() && right.is_integer()) {
    hint = "; together they promote to " + type_name(both) + ", cast one of them first";
  } else {
    hint = hint_for(op, both);
  }
  refuse(quoted(op) + " does not take " + operand_text(a) + " and " + operand_text(b) + hint);
}

// ---- comparisons of values that have no common integer type ----

/// `s op u` for a signed `s` and an unsigned 64-bit `u`, exactly.
ExprPtr compare_signed_unsigned(Op op, const ExprPtr &s, const ExprPtr &u) {
  const ExprPtr wide = cast(s, Int64);
  const ExprPtr zero = constant(std::int64_t{0}, Int64);
  const bool true_when_negative = op == Op::Lt || op == Op::Le || op == Op::Ne;
  const ExprPtr sign =
      make(node_of(ExprKind::Binary, Bool, {wide, zero}, true_when_negative ? Op::Lt : Op::Ge));
  const ExprPtr rest = make(node_of(ExprKind::Binary, Bool, {cast(wide, UInt64), u}, op));
  return make(node_of(ExprKind::Binary, Bool, {sign, rest}, true_when_negative ? Op::Or : Op::And));
}

} // namespace

Op mirrored(Op op) {
  switch (op) {
  case Op::Lt:
    return Op::Gt;
  case Op::Le:
    return Op::Ge;
  case Op::Gt:
    return Op::Lt;
  case Op::Ge:
    return Op::Le;
  default:
    return op;
  }
}

std::optional<ScalarType> operand_type(Op op, ScalarType a, ScalarType b) {
  if (op == Op::None) {
    return promote(a, b);
  }
  // Of floats, each operand alone: int8 and uint8 are float16 beside each other, as NumPy has it.
  const ScalarType type = operation(op).operands == OperandRule::Math
                              ? promote(math_type(a), math_type(b))
                              : operand_type(op, promote(a, b));
  return operation(op).takes(type) ? std::optional(type) : std::nullopt;
}

ExprPtr unary(Op op, ExprPtr a) {
  if (operation(op).form != OperationForm::Unary) {
    refuse(quoted(op) + " is not a unary operation");
  }
  require(a, quoted(op));
  const ScalarType type = a->type;
  if (!operation(op).takes(type)) {
    refuse(quoted(op) + " does not take " + type_name(type) + hint_for(op, type));
  }
  return make(node_of(ExprKind::Unary, result_type(op, type), {std::move(a)}, op));
}

ExprPtr binary(Op op, const Operand &a, const Operand &b) {
  if (operation(op).form != OperationForm::Binary) {
    refuse(quoted(op) + " is not a binary operation");
  }
  require_operand(a, quoted(op));
  require_operand(b, quoted(op));
  const bool a_weak = std::holds_alternative<WeakNumber>(a);
  const bool b_weak = std::holds_alternative<WeakNumber>(b);
  const ScalarType left = type_beside(a, b);
  const ScalarType right = type_beside(b, a);
  if (op == Op::Pow && !promote(left, right).is_floating() && !promote(left, right).is_complex() &&
      is_negative_constant(b)) {
    refuse("integers to negative integer powers are not allowed; cast the base to a float first");
  }
  if (is_comparison(op)) {
    // Comparisons compare values: a Python integer that its neighbour's type cannot hold keeps its
    // own.
    if (a_weak != b_weak) {
      const auto &weak = std::get<WeakNumber>(a_weak ? a : b);
      const ScalarType beside = a_weak ? left : right;
      if (is_weak_integer(weak) && beside.is_integer() &&
          !as_integer(weak.value).value_or(IntegerValue{}).fits(beside)) {
        return a_weak ? binary(op, strengthen(a), b) : binary(op, a, strengthen(b));
      }
    }
    if (left.is_signed_integer() && right == UInt64) {
      return compare_signed_unsigned(op, bring_to(a, left), bring_to(b, right));
    }
    if (left == UInt64 && right.is_signed_integer()) {
      return compare_signed_unsigned(mirrored(op), bring_to(b, right), bring_to(a, left));
    }
  }
  const std::optional<ScalarType> common = operand_type(op, left, right);
  if (!common) {
    refuse_operands(op, a, b);
  }
  ExprPtr first = bring_to(a, *common);
  ExprPtr second = bring_to(b, *common);
  return make(node_of(ExprKind::Binary, result_type(op, *common),
                      {std::move(first), std::move(second)}, op));
}

namespace {

void require_count(Op op, size_t given) {
  const auto arity = static_cast<size_t>(operation(op).arguments());
  if (given != arity) {
    refuse(quoted(op) + " takes " + counted(arity, "argument") + ", but " + std::to_string(given) +
           " were given");
  }
}

/// A call of one argument, which has its type.
ExprPtr call_of_one(Op op, ExprPtr a) {
  const ScalarType given = a->type;
  const bool is_part = op == Op::Real || op == Op::Conj;
  if (!given.is_complex() && (is_part || op == Op::Imag)) {
    return is_part ? a : constant(false, given);
  }
  const ScalarType type = operand_type(op, given);
  if (!operation(op).takes(type)) {
    if (operation(op).operands == OperandRule::Whole && !given.is_complex()) {
      return a;
    }
    refuse(quoted(op) + " does not take " + type_name(given) + hint_for(op, given));
  }
  a = cast(std::move(a), type);
  if (operation(op).form == OperationForm::Composed) {
    return compose(op, {std::move(a)});
  }
  if (op == Op::Sign && type.is_complex()) {
    return complex_sign(a);
  }
  return make(node_of(ExprKind::Call, result_type(op, type), {std::move(a)}, op));
}

ExprPtr call_of_two(Op op, const Operand &first, const Operand &second) {
  const std::optional<ScalarType> common =
      operand_type(op, type_beside(first, second), type_beside(second, first));
  if (!common) {
    refuse_operands(op, first, second);
  }
  ExprPtr a = bring_to(first, *common);
  ExprPtr b = bring_to(second, *common);
  if (operation(op).form == OperationForm::Composed) {
    return compose(op, {std::move(a), std::move(b)});
  }
  return make(node_of(ExprKind::Call, result_type(op, *common), {std::move(a), std::move(b)}, op));
}

} // namespace

ExprPtr call(Op op, std::vector<Operand> arguments) {
  const Operation &row = operation(op);
  if (row.form == OperationForm::Reduce || row.form == OperationForm::Fold || op == Op::None) {
    refuse(quoted(op) + " is not a function of " + counted(arguments.size(), "argument"));
  }
  require_count(op, arguments.size());
  for (const Operand &argument : arguments) {
    require_operand(argument, quoted(op));
  }
  if (row.form == OperationForm::Unary) {
    return unary(op, strengthen(arguments[0]));
  }
  if (row.form == OperationForm::Binary) {
    return binary(op, arguments[0], arguments[1]);
  }
  if (row.operands == OperandRule::Free) {
    return compose(op, arguments);
  }
  return arguments.size() == 1 ? call_of_one(op, strengthen(arguments[0]))
                               : call_of_two(op, arguments[0], arguments[1]);
}

} // namespace tilewright
