#include "algorithm/expression.h"

#include "algorithm/affine.h"
#include "algorithm/expression_depth.h"
#include "algorithm/function.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

namespace tilewright {

namespace {

ExprPtr make(Expr node) { return finished(std::move(node)); }

Expr node_of(ExprKind kind, ScalarType type, std::vector<ExprPtr> operands = {}, Op op = Op::None) {
  Expr node{};
  node.kind = kind;
  node.type = type;
  node.operands = std::move(operands);
  node.op = op;
  return node;
}

[[noreturn]] void refuse(const std::string &message) { throw Error(ErrorKind::Type, message); }

std::string counted(size_t count, const std::string &noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void require(const ExprPtr &expr, const std::string &what) {
  if (!expr) {
    refuse(what + " is missing an operand");
  }
}

bool is_unary_op(Op op) { return op == Op::Neg || op == Op::Not || op == Op::Abs; }
bool is_binary_op(Op op) { return op >= Op::Add && op <= Op::Ne; }
bool is_call_op(Op op) { return op >= Op::Sqrt && op <= Op::MakeComplex; }
bool is_reduce_op(Op op) { return op >= Op::ReduceSum && op <= Op::ReduceArgMax; }

std::string quoted(Op op) { return "'" + op_name(op) + "'"; }

// ---- constants ----

std::complex<double> as_complex(const ConstantValue &value) {
  return std::visit(
      [](const auto &v) -> std::complex<double> {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::complex<double>>) {
          return v;
        } else {
          return {static_cast<double>(v), 0.0};
        }
      },
      value);
}

/// The integer a constant stands for, as sign and magnitude; nothing for a value with a fraction.
struct IntegerValue {
  bool negative = false;
  std::uint64_t magnitude = 0;

  bool fits(ScalarType type) const {
    if (!negative) {
      return magnitude <= integer_max(type);
    }
    return type.is_signed_integer() && magnitude <= integer_max(type) + 1;
  }
  std::uint64_t bits() const { return negative ? 0 - magnitude : magnitude; }
  std::string text() const { return (negative ? "-" : "") + std::to_string(magnitude); }
};

std::optional<IntegerValue> as_integer(const ConstantValue &value) {
  if (const bool *b = std::get_if<bool>(&value)) {
    return IntegerValue{false, *b ? 1U : 0U};
  }
  if (const std::int64_t *i = std::get_if<std::int64_t>(&value)) {
    const bool negative = *i < 0;
    const auto bits = static_cast<std::uint64_t>(*i);
    return IntegerValue{negative, negative ? 0 - bits : bits};
  }
  if (const std::uint64_t *u = std::get_if<std::uint64_t>(&value)) {
    return IntegerValue{false, *u};
  }
  if (const double *d = std::get_if<double>(&value)) {
    if (std::isfinite(*d) && std::trunc(*d) == *d && std::fabs(*d) < 0x1p64) {
      return IntegerValue{*d < 0, static_cast<std::uint64_t>(std::fabs(*d))};
    }
  }
  return std::nullopt;
}

ScalarType natural_type(const WeakNumber &number) {
  switch (number.kind) {
  case TypeKind::Bool:
    return Bool;
  case TypeKind::Int:
  case TypeKind::UInt: {
    const std::optional<IntegerValue> integer = as_integer(number.value);
    return !integer || integer->fits(Int64) ? Int64 : UInt64;
  }
  case TypeKind::Float:
  case TypeKind::BFloat:
    return Float64;
  case TypeKind::Complex:
    return Complex128;
  }
  return Float64;
}

bool is_weak_integer(const WeakNumber &number) {
  return number.kind == TypeKind::Int || number.kind == TypeKind::UInt;
}

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

ScalarType type_beside(const Operand &operand, const Operand &other) {
  if (const ExprPtr *expr = std::get_if<ExprPtr>(&operand)) {
    return (*expr)->type;
  }
  const auto &weak = std::get<WeakNumber>(operand);
  if (const ExprPtr *expr = std::get_if<ExprPtr>(&other)) {
    return promote_weak((*expr)->type, weak.kind);
  }
  return natural_type(weak);
}

ExprPtr bring_to(const Operand &operand, ScalarType type) {
  if (const ExprPtr *expr = std::get_if<ExprPtr>(&operand)) {
    return cast(*expr, type);
  }
  return constant(std::get<WeakNumber>(operand).value, type);
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

void require_operand(const Operand &operand, const std::string &what) {
  if (const ExprPtr *expr = std::get_if<ExprPtr>(&operand)) {
    require(*expr, what);
  }
}

[[noreturn]] void refuse_operands(Op op, const Operand &a, const Operand &b) {
  std::string hint;
  const ScalarType left = type_beside(a, b);
  const ScalarType right = type_beside(b, a);
  const ScalarType both = promote(left, right);
  if (op == Op::Sub && both.is_bool()) {
    hint = "; use '^' for exclusive or, or cast to an integer first";
  } else if (both.is_complex()) {
    hint = "; complex numbers have no order, no floor and no remainder";
  } else if (left.is_integer() && right.is_integer()) {
    hint = "; together they promote to " + type_name(both) + ", cast one of them first";
  } else if (both.is_floating()) {
    hint = "; it is defined for bool and integers only";
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

bool is_comparison(Op op) { return op >= Op::Lt && op <= Op::Ne; }

std::optional<ScalarType> operand_type(Op op, ScalarType a, ScalarType b) {
  const ScalarType type = promote(a, b);
  switch (op) {
  case Op::Sub:
    return type.is_bool() ? std::nullopt : std::optional(type);
  case Op::TrueDiv:
    return type.is_bool() || type.is_integer() ? Float64 : type;
  case Op::FloorDiv:
  case Op::Mod:
    if (type.is_complex()) {
      return std::nullopt;
    }
    return type.is_bool() ? Int8 : type;
  case Op::Pow:
    return type.is_bool() ? Int8 : type;
  case Op::Min:
  case Op::Max:
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
    return type.is_complex() ? std::nullopt : std::optional(type);
  case Op::And:
  case Op::Or:
  case Op::Xor:
    return type.is_bool() || type.is_integer() ? std::optional(type) : std::nullopt;
  case Op::Shl:
  case Op::Shr:
    if (type.is_bool()) {
      return Int8;
    }
    return type.is_integer() ? std::optional(type) : std::nullopt;
  case Op::Arctan2:
    return type.is_complex() ? std::nullopt : std::optional(math_type(type));
  case Op::MakeComplex:
    return type.is_complex() ? std::nullopt : std::optional(component_type(complex_type(type)));
  default:
    return type;
  }
}

ExprPtr constant(ConstantValue value, ScalarType type) {
  Expr node = node_of(ExprKind::Constant, type);
  const std::complex<double> number = as_complex(value);
  if (!type.is_complex() && std::holds_alternative<std::complex<double>>(value) &&
      number.imag() != 0.0) {
    refuse("a complex constant cannot have type " + type_name(type));
  }
  if (type.is_complex()) {
    node.value = number;
  } else if (type.is_floating()) {
    node.value = number.real();
  } else if (type.is_bool()) {
    node.value = number != std::complex<double>(0.0, 0.0);
  } else {
    const std::optional<IntegerValue> integer = std::holds_alternative<std::complex<double>>(value)
                                                    ? as_integer(number.real())
                                                    : as_integer(value);
    if (!integer) {
      refuse("the constant " + std::to_string(number.real()) +
             " is not an integer and cannot have type " + type_name(type));
    }
    if (!integer->fits(type)) {
      refuse("Python integer " + integer->text() + " out of bounds for " + type_name(type));
    }
    if (type.is_signed_integer()) {
      node.value = static_cast<std::int64_t>(integer->bits());
    } else {
      node.value = integer->bits();
    }
  }
  return make(std::move(node));
}

ExprPtr iterator(const std::string &name) {
  if (name.empty()) {
    refuse("an iterator needs a name");
  }
  Expr node = node_of(ExprKind::Iterator, Int64);
  node.name = name;
  return make(std::move(node));
}

ExprPtr parameter(const std::string &name, const std::string &constraint) {
  if (name.empty()) {
    refuse("a parameter needs a name");
  }
  Expr node = node_of(ExprKind::Parameter, Int64);
  node.name = name;
  node.constraint = constraint;
  return make(std::move(node));
}

bool is_wide_unsigned(const Expr &subscript) {
  return subscript.kind == ExprKind::Cast && subscript.operands[0]->type == UInt64;
}

ExprPtr access(ComputationPtr producer, std::vector<ExprPtr> subscripts, SourceLocation where) {
  if (!producer) {
    throw Error(ErrorKind::Type, "a read needs an input or a computation", std::move(where));
  }
  if (subscripts.size() != producer->rank()) {
    throw Error(ErrorKind::Type,
                "'" + producer->name + "' has " + counted(producer->rank(), "dimension") +
                    " but is read with " + counted(subscripts.size(), "subscript"),
                std::move(where));
  }
  for (ExprPtr &subscript : subscripts) {
    require(subscript, "a read of '" + producer->name + "'");
    if (!subscript->type.is_integer()) {
      throw Error(ErrorKind::Type,
                  "a subscript of '" + producer->name + "' must be an integer, but " +
                      to_string(subscript) + " is " + type_name(subscript->type),
                  std::move(where));
    }
    subscript = cast(subscript, Int64);
  }
  Expr node = node_of(ExprKind::Access, producer->type, std::move(subscripts));
  node.producer = std::move(producer);
  node.where = std::move(where);
  return make(std::move(node));
}

ExprPtr unary(Op op, ExprPtr a) {
  if (!is_unary_op(op)) {
    refuse(quoted(op) + " is not a unary operation");
  }
  require(a, quoted(op));
  ScalarType type = a->type;
  if (op == Op::Neg && type.is_bool()) {
    refuse("'-' does not take bool; use '~' for not, or cast to an integer first");
  }
  if (op == Op::Not && !type.is_bool() && !type.is_integer()) {
    refuse("'~' does not take " + type_name(type) + "; it is defined for bool and integers only");
  }
  if (op == Op::Abs) {
    type = component_type(type);
  }
  return make(node_of(ExprKind::Unary, type, {std::move(a)}, op));
}

ExprPtr binary(Op op, const Operand &a, const Operand &b) {
  if (!is_binary_op(op)) {
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
  return make(node_of(ExprKind::Binary, is_comparison(op) ? Bool : *common,
                      {std::move(first), std::move(second)}, op));
}

ExprPtr call(Op op, std::vector<Operand> arguments) {
  if (is_unary_op(op) && arguments.size() == 1) {
    return unary(op, strengthen(arguments[0]));
  }
  if (is_binary_op(op) && arguments.size() == 2) {
    return binary(op, arguments[0], arguments[1]);
  }
  if (!is_call_op(op)) {
    refuse(quoted(op) + " is not a function of " + std::to_string(arguments.size()) + " arguments");
  }
  const size_t arity = op == Op::Arctan2 || op == Op::MakeComplex ? 2 : 1;
  if (arguments.size() != arity) {
    refuse(quoted(op) + " takes " + std::to_string(arity) +
           (arity == 1 ? " argument, but " : " arguments, but ") +
           std::to_string(arguments.size()) + " were given");
  }
  for (const Operand &argument : arguments) {
    require_operand(argument, quoted(op));
  }
  if (arity == 2) {
    const std::optional<ScalarType> common = operand_type(
        op, type_beside(arguments[0], arguments[1]), type_beside(arguments[1], arguments[0]));
    if (!common) {
      refuse_operands(op, arguments[0], arguments[1]);
    }
    const ScalarType type = op == Op::MakeComplex ? complex_type(*common) : *common;
    return make(node_of(ExprKind::Call, type,
                        {bring_to(arguments[0], *common), bring_to(arguments[1], *common)}, op));
  }
  ExprPtr a = strengthen(arguments[0]);
  const ScalarType given = a->type;
  const bool exact = given.is_bool() || given.is_integer();
  switch (op) {
  case Op::Isnan:
    return make(node_of(ExprKind::Call, Bool, {std::move(a)}, op));
  case Op::Real:
    return given.is_complex()
               ? make(node_of(ExprKind::Call, component_type(given), {std::move(a)}, op))
               : a;
  case Op::Imag:
    return given.is_complex()
               ? make(node_of(ExprKind::Call, component_type(given), {std::move(a)}, op))
               : constant(false, given);
  case Op::Conj:
    return given.is_complex() ? make(node_of(ExprKind::Call, given, {std::move(a)}, op)) : a;
  case Op::Floor:
  case Op::Ceil:
  case Op::Trunc:
    if (exact) {
      return a;
    }
    break;
  default:
    break;
  }
  if (given.is_complex() &&
      (op == Op::Floor || op == Op::Ceil || op == Op::Trunc || op == Op::Rint || op == Op::Erf)) {
    refuse(quoted(op) + " does not take " + type_name(given));
  }
  const ScalarType type = math_type(given);
  return make(node_of(ExprKind::Call, type, {cast(std::move(a), type)}, op));
}

ExprPtr cast(ExprPtr a, ScalarType type) {
  require(a, "a cast to " + type_name(type));
  if (a->type == type) {
    return a;
  }
  return make(node_of(ExprKind::Cast, type, {std::move(a)}));
}

ExprPtr select(ExprPtr condition, const Operand &then, const Operand &otherwise) {
  require(condition, "'select'");
  require_operand(then, "'select'");
  require_operand(otherwise, "'select'");
  const ScalarType type = promote(type_beside(then, otherwise), type_beside(otherwise, then));
  return make(
      node_of(ExprKind::Select, type,
              {cast(std::move(condition), Bool), bring_to(then, type), bring_to(otherwise, type)}));
}

namespace {

bool is_affine_condition(const ExprPtr &condition) {
  std::vector<std::string> names;
  bool reads = false;
  visit(condition, [&](const ExprPtr &node) {
    if (node->kind == ExprKind::Iterator) {
      names.push_back(node->name);
    }
    reads = reads || node->kind == ExprKind::Access || node->kind == ExprKind::State;
  });
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return !reads && to_set(condition, {"", names}).has_value();
}

ExprPtr conjunction(const ExprPtr &a, const ExprPtr &b) {
  return !a ? b : !b ? a : binary(Op::And, a, b);
}

/// The affine conjuncts of a condition go one way, the others another.
void split_condition(const ExprPtr &condition, ExprPtr &affine, ExprPtr &others) {
  if (is_affine_condition(condition)) {
    affine = conjunction(affine, condition);
  } else if (condition->kind == ExprKind::Binary && condition->op == Op::And) {
    split_condition(condition->operands[0], affine, others);
    split_condition(condition->operands[1], affine, others);
  } else {
    others = conjunction(others, condition);
  }
}

} // namespace

ExprPtr reduce(Op op, std::vector<ReduceRange> ranges, ExprPtr body, ExprPtr condition,
               bool ordered, ExprPtr predicate) {
  if (!is_reduce_op(op)) {
    refuse(quoted(op) + " is not a reduction");
  }
  require(body, quoted(op));
  if (ranges.empty()) {
    refuse(quoted(op) + " needs at least one iterator to reduce over");
  }
  const bool position = op == Op::ReduceArgMin || op == Op::ReduceArgMax;
  if (position && ranges.size() != 1) {
    refuse(quoted(op) + " gives the value of one iterator, but " + std::to_string(ranges.size()) +
           " are reduced");
  }
  std::set<std::string> seen;
  for (ReduceRange &range : ranges) {
    if (range.iterator.empty() || !seen.insert(range.iterator).second) {
      refuse(quoted(op) + " reduces over '" + range.iterator + "' twice");
    }
    for (ExprPtr *bound : {&range.lower, &range.upper}) {
      require(*bound, quoted(op) + " over '" + range.iterator + "'");
      if (!(*bound)->type.is_integer()) {
        refuse("a bound of '" + range.iterator + "' in " + quoted(op) +
               " must be an integer, but " + to_string(*bound) + " is " +
               type_name((*bound)->type));
      }
      *bound = cast(*bound, Int64);
    }
  }
  for (const ExprPtr &given : {condition, predicate}) {
    if (given && !given->type.is_bool()) {
      refuse("the condition of " + quoted(op) + " must be bool, but " + to_string(given) + " is " +
             type_name(given->type));
    }
  }
  ScalarType type = body->type;
  switch (op) {
  case Op::ReduceSum:
  case Op::ReduceProd:
    if (type.is_bool() || type.is_integer()) {
      type = type.kind == TypeKind::UInt ? UInt64 : Int64;
    }
    break;
  case Op::ReduceAny:
  case Op::ReduceAll:
    type = Bool;
    break;
  default:
    if (type.is_complex()) {
      refuse(quoted(op) + " does not take " + type_name(type) + "; complex numbers have no order");
    }
    break;
  }
  Expr node = node_of(ExprKind::Reduce, position ? Int64 : type, {cast(std::move(body), type)}, op);
  node.ranges = std::move(ranges);
  node.predicate = std::move(predicate);
  if (condition) {
    split_condition(condition, node.condition, node.predicate);
  }
  node.ordered = ordered;
  return make(std::move(node));
}

ExprPtr state(const std::string &name, ScalarType type) {
  Expr node = node_of(ExprKind::State, type);
  node.name = name;
  return make(std::move(node));
}

std::vector<ExprPtr> while_loop(std::vector<ExprPtr> states, std::vector<ExprPtr> initial,
                                ExprPtr condition, std::vector<ExprPtr> next, ExprPtr limit) {
  const std::string what = "'while_loop'";
  if (states.empty() || initial.size() != states.size() || next.size() != states.size()) {
    refuse(what + " has " + std::to_string(states.size()) + " states, but " +
           std::to_string(initial.size()) + " initial and " + std::to_string(next.size()) +
           " next values");
  }
  require(condition, what);
  if (!condition->type.is_bool()) {
    refuse("the condition of " + what + " must be bool, but " + to_string(condition) + " is " +
           type_name(condition->type));
  }
  for (size_t k = 0; k < states.size(); ++k) {
    require(initial[k], what);
    require(next[k], what);
    for (const ExprPtr &value : {initial[k], next[k]}) {
      if (promote(states[k]->type, value->type) != states[k]->type) {
        refuse("the state " + states[k]->name + " of " + what + " is " +
               type_name(states[k]->type) + ", but its " + (value == next[k] ? "next" : "initial") +
               " value " + to_string(value) + " is " + type_name(value->type) +
               "; cast one of them");
      }
    }
  }
  if (limit && !limit->type.is_integer()) {
    refuse("the limit of " + what + " must be an integer, but " + to_string(limit) + " is " +
           type_name(limit->type));
  }
  std::vector<ExprPtr> operands;
  for (size_t k = 0; k < states.size(); ++k) {
    operands.push_back(cast(initial[k], states[k]->type));
  }
  operands.push_back(std::move(condition));
  for (size_t k = 0; k < states.size(); ++k) {
    operands.push_back(cast(next[k], states[k]->type));
  }
  if (limit) {
    operands.push_back(cast(std::move(limit), Int64));
  }
  Expr node = node_of(ExprKind::While, states.front()->type, std::move(operands));
  node.states = std::move(states);
  const ExprPtr loop = make(std::move(node));
  std::vector<ExprPtr> results;
  for (size_t k = 0; k < loop->states.size(); ++k) {
    Expr result = node_of(ExprKind::WhileResult, loop->states[k]->type, {loop});
    result.position = k;
    results.push_back(make(std::move(result)));
  }
  return results;
}

WhileParts while_parts(const Expr &loop) {
  const auto count = static_cast<std::ptrdiff_t>(loop.states.size());
  const auto begin = loop.operands.begin();
  WhileParts parts;
  parts.initial.assign(begin, begin + count);
  parts.condition = *(begin + count);
  parts.next.assign(begin + count + 1, begin + 2 * count + 1);
  if (loop.operands.size() > 2 * loop.states.size() + 1) {
    parts.limit = loop.operands.back();
  }
  return parts;
}

ExprPtr strengthen(const Operand &operand) {
  if (const ExprPtr *expr = std::get_if<ExprPtr>(&operand)) {
    require(*expr, "an expression");
    return *expr;
  }
  const auto &weak = std::get<WeakNumber>(operand);
  return constant(weak.value, natural_type(weak));
}

ExprPtr reduction_identity(Op op, ScalarType type) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  switch (op) {
  case Op::ReduceSum:
    return constant(false, type);
  case Op::ReduceProd:
    return constant(true, type);
  case Op::ReduceAny:
    return constant(false, Bool);
  case Op::ReduceAll:
    return constant(true, Bool);
  case Op::ReduceMin:
  case Op::ReduceMax: {
    const bool smallest = op == Op::ReduceMax;
    if (type.is_complex()) {
      refuse(quoted(op) + " does not take " + type_name(type) + "; complex numbers have no order");
    }
    if (type.is_floating()) {
      return constant(smallest ? -infinity : infinity, type);
    }
    return smallest ? constant(integer_min(type), type) : constant(integer_max(type), type);
  }
  case Op::ReduceArgMin:
  case Op::ReduceArgMax:
    return constant(std::int64_t{-1}, Int64);
  default:
    refuse(quoted(op) + " is not a reduction");
  }
}

Op reduction_combiner(Op op) {
  switch (op) {
  case Op::ReduceSum:
    return Op::Add;
  case Op::ReduceProd:
    return Op::Mul;
  case Op::ReduceMin:
    return Op::Min;
  case Op::ReduceMax:
    return Op::Max;
  case Op::ReduceAny:
    return Op::Or;
  case Op::ReduceAll:
    return Op::And;
  default:
    return Op::None;
  }
}

} // namespace tilewright
