#include "targets/c_source/expressions.h"

#include "algorithm/extern_function.h"
#include "algorithm/scalar.h"
#include "loops/linear.h"
#include "polyhedral/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright {

namespace {

bool is_narrow(ScalarType type) { return type.is_floating() && type.bits == 16; }

/// The type in which a float is computed.
ScalarType computed(ScalarType type) { return is_narrow(type) ? Float32 : type; }

const char *sign_of(Op op) {
  switch (op) {
  case Op::Add:
    return "+";
  case Op::Sub:
    return "-";
  case Op::Mul:
    return "*";
  case Op::TrueDiv:
    return "/";
  case Op::Lt:
    return "<";
  case Op::Le:
    return "<=";
  case Op::Gt:
    return ">";
  case Op::Ge:
    return ">=";
  case Op::Eq:
    return "==";
  case Op::Ne:
    return "!=";
  case Op::And:
    return "&";
  case Op::Or:
    return "|";
  case Op::Xor:
    return "^";
  default:
    throw Error(ErrorKind::Internal, "C has no sign for " + op_name(op));
  }
}

CText infix(Op op, const CText &a, const CText &b) {
  using P = CPrecedence;
  const std::string middle = std::string(" ") + sign_of(op) + " ";
  switch (op) {
  case Op::Add:
  case Op::Sub:
    return {a.at_least(P::Sum) + middle + b.beside(P::Product), P::Sum};
  case Op::Mul:
  case Op::TrueDiv:
    return {a.at_least(P::Product) + middle + b.beside(P::Prefix), P::Product};
  case Op::Lt:
  case Op::Le:
  case Op::Gt:
  case Op::Ge:
    return {a.at_least(P::Sum) + middle + b.at_least(P::Sum), P::Relation};
  case Op::Eq:
  case Op::Ne:
    return {a.at_least(P::Sum) + middle + b.at_least(P::Sum), P::Equality};
  case Op::And:
    return {a.at_least(P::Prefix) + middle + b.at_least(P::Prefix), P::BitAnd};
  case Op::Or:
    return {a.at_least(P::Prefix) + middle + b.at_least(P::Prefix), P::BitOr};
  default:
    return {a.at_least(P::Prefix) + middle + b.at_least(P::Prefix), P::BitXor};
  }
}

/// a + b + c of indices, whose sums may be taken in any order; x - 1 for x + -1.
CText index_sum(Op op, const CText &a, const CText &b) {
  if (op == Op::Add && b.text.starts_with('-') && b.precedence == CPrecedence::Prefix) {
    return {a.at_least(CPrecedence::Sum) + " - " + b.text.substr(1), CPrecedence::Sum};
  }
  const bool flat = op == Op::Add && !b.text.starts_with('-');
  return flat ? CText{a.at_least(CPrecedence::Sum) + " + " + b.at_least(CPrecedence::Sum),
                      CPrecedence::Sum}
              : infix(op, a, b);
}

/// && and ||, with parentheses where compilers warn of their absence.
CText logical(const char *sign, CPrecedence own, const CText &a, const CText &b) {
  const auto part = [&](const CText &text) {
    return text.precedence == own ? text.text : text.at_least(CPrecedence::Equality);
  };
  return {part(a) + " " + sign + " " + part(b), own};
}

[[noreturn]] void refuse(const Value & /*value*/) {
  throw Error(ErrorKind::Internal, "a vector, or a value of a GPU's thread, reached C source");
}

} // namespace

std::optional<double> constant_real(const Value &value) {
  if (const auto *constant = as<Constant>(value)) {
    if (!value.type.scalar.is_floating()) {
      return std::nullopt;
    }
    return value_of(constant->value, value.type.scalar).d;
  }
  const auto *conversion = as<Cast>(value);
  if (conversion == nullptr || !value.type.scalar.is_floating()) {
    return std::nullopt;
  }
  const auto *inner = as<Constant>(conversion->operand());
  if (inner == nullptr) {
    return std::nullopt;
  }
  const Scalar from = make_scalar(inner->value, inner->type.scalar);
  return cast(from, value.type.scalar).value.d;
}

bool CExpressions::is_index(const Value &value) const {
  switch (value.kind) {
  case ValueKind::Constant:
    return value.type.scalar == Int64;
  case ValueKind::Parameter:
    return sizes_.contains(cast<Parameter>(value).position);
  case ValueKind::Variable:
    return indices_.contains(cast<Variable>(value).id);
  case ValueKind::Unary:
    return cast<Unary>(value).op == Op::Neg && value.type.scalar == Int64 &&
           is_index(*value.operands[0]);
  case ValueKind::Binary: {
    const Op op = cast<Binary>(value).op;
    const bool known = op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::FloorDiv ||
                       op == Op::Mod || op == Op::Min || op == Op::Max;
    return known && value.type.scalar == Int64 && is_index(*value.operands[0]) &&
           is_index(*value.operands[1]) && !may_wrap(value);
  }
  default:
    return false;
  }
}

Interval CExpressions::range_of(const ValuePtr &value) const {
  return is_index(*value) ? ranges_.of(value) : Interval{};
}

CText CExpressions::text(const Value &value) {
  if (const auto found = named_.find(&value); found != named_.end()) {
    return {found->second};
  }
  switch (value.kind) {
  case ValueKind::Constant:
    return constant(cast<Constant>(value).value, value.type.scalar);
  case ValueKind::Variable:
    return {names_.of(cast<Variable>(value).id)};
  case ValueKind::Local:
    return {names_.of(cast<Local>(value).id)};
  case ValueKind::Parameter:
    return {parameters_.at(static_cast<size_t>(cast<Parameter>(value).position))};
  case ValueKind::Load: {
    const auto &load = cast<Load>(value);
    const ScalarType held = kernel_.buffers.at(static_cast<size_t>(load.buffer)).type;
    return loaded(element(load.buffer, load.subscripts()), held);
  }
  case ValueKind::Unary:
    return call(value, cast<Unary>(value).op);
  case ValueKind::Call:
    return call(value, cast<Call>(value).op);
  case ValueKind::Extern:
    return call(cast<Extern>(value));
  case ValueKind::Binary:
    return binary(cast<Binary>(value));
  case ValueKind::Cast:
    return operand(*cast<Cast>(value).operand(), value.type.scalar);
  case ValueKind::Select: {
    const auto &chosen = cast<Select>(value);
    const ScalarType type = value.type.scalar;
    return {text(chosen.condition()).at_least(CPrecedence::Or) + " ? " +
                operand(*chosen.then(), type).at_least(CPrecedence::Or) + " : " +
                operand(*chosen.otherwise(), type).at_least(CPrecedence::Conditional),
            CPrecedence::Conditional};
  }
  default:
    refuse(value);
  }
}

CText CExpressions::call(const Extern &value) {
  const ExternFunction &function = *value.function;
  helpers_.need("extern " + function.name,
                [&] { return "extern " + c_prototype(function) + ";\n"; });
  std::string arguments;
  for (const ValuePtr &argument : value.operands) {
    arguments += (arguments.empty() ? "" : ", ") + text(argument).text;
  }
  return {function.name + "(" + arguments + ")"};
}

std::string CExpressions::element(std::int64_t buffer, const std::vector<ValuePtr> &subscripts) {
  std::vector<CText> printed;
  printed.reserve(subscripts.size());
  for (const ValuePtr &subscript : subscripts) {
    printed.push_back(text(subscript));
  }
  return places_.element(buffer, printed);
}

CText CExpressions::loaded(const std::string &element, ScalarType type) {
  return is_narrow(type) ? c_call(helpers_.from_bits(type), {element}) : CText{element};
}

CText CExpressions::stored(const ValuePtr &value, ScalarType type) {
  const CText converted = operand(*value, type);
  return is_narrow(type) ? c_call(helpers_.to_bits(type), converted) : converted;
}

// ---- constants ----

CText CExpressions::real_constant(double value, ScalarType type) const {
  const bool is_float = type.bits != 64;
  if (std::isnan(value)) {
    return {"NAN"};
  }
  if (std::isinf(value)) {
    return value < 0 ? CText{"-INFINITY", CPrecedence::Prefix} : CText{"INFINITY"};
  }
  std::string digits =
      is_float ? fmt::format("{}", static_cast<float>(value)) : fmt::format("{}", value);
  if (digits.find_first_of(".e") == std::string::npos) {
    digits += ".0";
  }
  return {digits + (is_float ? "f" : ""),
          digits[0] == '-' ? CPrecedence::Prefix : CPrecedence::Atom};
}

CText CExpressions::constant(const ConstantValue &value, ScalarType type) const {
  const ScalarValue exact = value_of(value, type);
  if (type.is_bool()) {
    return {exact.u != 0 ? "true" : "false"};
  }
  if (type.is_floating()) {
    return real_constant(exact.d, type);
  }
  if (type.is_complex()) {
    const ScalarType part = component_type(type);
    return c_call(helpers_.make_complex(type), real_constant(exact.d, part),
                  real_constant(exact.im, part));
  }
  constexpr std::int64_t largest_int = std::numeric_limits<std::int32_t>::max();
  if (!type.is_signed_integer()) {
    const std::string digits = std::to_string(exact.u);
    return {type.bits < 32 ? digits : type.bits == 32 ? digits + "u" : "UINT64_C(" + digits + ")"};
  }
  if (exact.i == integer_min(type)) {
    return {fmt::format("INT{}_MIN", type.bits)};
  }
  const std::string digits = std::to_string(exact.i);
  const std::string text = std::abs(exact.i) > largest_int ? "INT64_C(" + digits + ")" : digits;
  return {text, text[0] == '-' ? CPrecedence::Prefix : CPrecedence::Atom};
}

// ---- conversions ----

CText CExpressions::rounded(const CText &text, ScalarType type) {
  return is_narrow(type) ? c_call(helpers_.rounded(type), text) : text;
}

/// A real number of type `from`, as a float of type `to`.
CText CExpressions::to_real(const CText &text, ScalarType from, ScalarType to) {
  if (from.is_floating()) {
    const bool by_float = to.kind == TypeKind::BFloat && from.bits == 64;
    const CText given = by_float ? c_cast("float", text) : text;
    if (is_narrow(to)) {
      return rounded(given, to);
    }
    return computed(from) == to ? text : c_cast(c_type(to), text);
  }
  return rounded(c_cast(c_type(to), text), to);
}

CText CExpressions::converted(const CText &text, ScalarType from, ScalarType to) {
  if (from == to) {
    return text;
  }
  if (from.is_complex()) {
    const ScalarType part = component_type(from);
    if (to.is_bool()) {
      return c_call(helpers_.is_nonzero(from), text);
    }
    if (to.is_complex()) {
      return c_cast(c_type(to), text);
    }
    return converted(c_call(part.bits == 64 ? "creal" : "crealf", text), part, to);
  }
  if (to.is_complex()) {
    return c_call(helpers_.make_complex(to), converted(text, from, component_type(to)), {"0"});
  }
  if (to.is_bool()) {
    return {text.at_least(CPrecedence::Sum) + " != 0", CPrecedence::Equality};
  }
  if (to.is_floating()) {
    return to_real(text, from, to);
  }
  return from.is_floating() ? c_call(helpers_.saturating(computed(from), to), text)
                            : c_cast(c_type(to), text);
}

CText CExpressions::operand(const Value &value, ScalarType type) {
  return converted(text(value), value.type.scalar, type);
}

// ---- operations of two values ----

CText CExpressions::binary(const Binary &value) {
  ScalarType type = value.type.scalar;
  if (is_comparison(value.op)) {
    type = value.left()->type.scalar;
  }
  if (value.op == Op::Pow && type.is_floating()) {
    return power(value, type);
  }
  const CText a = operand(*value.left(), type);
  const CText b = operand(*value.right(), type);
  const bool plain = value.op == Op::Add || value.op == Op::Sub || value.op == Op::Mul;
  if (plain && is_index(value)) {
    return value.op == Op::Mul ? infix(value.op, a, b) : index_sum(value.op, a, b);
  }
  if ((value.op == Op::FloorDiv || value.op == Op::Mod) && is_index(value)) {
    // C divides towards zero, which is the same above it.
    const auto divisor = as_integer(value.right());
    if (divisor.value_or(0) > 0 && range_of(value.left()).lower.value_or(-1) >= 0) {
      return {a.at_least(CPrecedence::Product) + (value.op == Op::Mod ? " % " : " / ") + b.text,
              CPrecedence::Product};
    }
  }
  return applied(value.op, type, a, b);
}

CText CExpressions::applied(Op op, ScalarType type, const CText &a, const CText &b) {
  if (type.is_complex()) {
    return of_complex(op, type, a, b);
  }
  return type.is_bool()      ? of_bool(op, a, b)
         : type.is_integer() ? of_integers(op, type, a, b)
                             : of_floats(op, type, a, b);
}

CText CExpressions::of_bool(Op op, const CText &a, const CText &b) {
  switch (op) {
  case Op::Add:
  case Op::Max:
  case Op::Fmax:
  case Op::Or:
    return logical("||", CPrecedence::Or, a, b);
  case Op::Mul:
  case Op::Min:
  case Op::Fmin:
  case Op::And:
    return logical("&&", CPrecedence::And, a, b);
  case Op::Sub:
  case Op::Xor:
    return infix(Op::Ne, a, b);
  default:
    if (!is_comparison(op)) {
      throw Error(ErrorKind::Internal, "no C for " + op_name(op) + " of bool");
    }
    return infix(op, a, b);
  }
}

CText CExpressions::of_integers(Op op, ScalarType type, const CText &a, const CText &b) {
  if (is_comparison(op) || op == Op::And || op == Op::Or || op == Op::Xor) {
    return infix(op, a, b);
  }
  const bool plain = op == Op::Add || op == Op::Sub || op == Op::Mul;
  if (plain && !type.is_signed_integer() && type.bits >= 32) {
    return infix(op, a, b);
  }
  return c_call(helpers_.integer(op, type), a, b);
}

CText CExpressions::of_floats(Op op, ScalarType type, const CText &a, const CText &b) {
  const ScalarType inside = computed(type);
  const std::string suffix = inside.bits == 64 ? "" : "f";
  switch (op) {
  case Op::Add:
  case Op::Sub:
  case Op::Mul:
  case Op::TrueDiv:
    return rounded(infix(op, a, b), type);
  case Op::FloorDiv:
  case Op::Mod:
    return rounded(c_call(helpers_.real(op, inside), a, b), type);
  case Op::Min:
  case Op::Max:
  case Op::Fmin:
  case Op::Fmax:
    return c_call(helpers_.real(op, inside), a, b);
  case Op::Fmod:
    return rounded(c_call("fmod" + suffix, a, b), type);
  case Op::Copysign:
    return c_call("copysign" + suffix, a, b);
  case Op::Pow:
  case Op::Arctan2:
  case Op::Hypot:
    return rounded(c_call(helpers_.elementary(op, inside), a, b), type);
  default:
    return infix(op, a, b); // comparisons
  }
}

CText CExpressions::of_complex(Op op, ScalarType type, const CText &a, const CText &b) {
  return c_call(helpers_.complex(op, type), a, b);
}

/// NumPy's own short cuts for constant exponents.
CText CExpressions::power(const Binary &value, ScalarType type) {
  const ScalarType inside = computed(type);
  CText base = operand(*value.left(), type);
  const std::optional<double> exponent = constant_real(*value.right());
  if (exponent == 2.0) {
    return rounded(c_call(helpers_.real(Op::Square, inside), base), type);
  }
  if (exponent == 1.0) {
    return base;
  }
  if (exponent == 0.5) {
    return rounded(c_call(inside.bits == 64 ? "sqrt" : "sqrtf", base), type);
  }
  if (exponent == -1.0) {
    return rounded(infix(Op::TrueDiv, real_constant(1, inside), base), type);
  }
  const std::optional<int> factors = exponent ? factors_of_power(*exponent) : std::nullopt;
  if (factors && inside.bits == 32) {
    return rounded(c_call(helpers_.float_power(*factors), base), type);
  }
  return applied(Op::Pow, type, base, operand(*value.right(), type));
}

// ---- functions ----

/// As the CPU target: the operand's type decides, brought to the result's unless the function
/// leaves the kind.
CText CExpressions::call(const Value &value, Op op) {
  ScalarType type = value.operands.at(0)->type.scalar;
  if (op == Op::MakeComplex) {
    const ScalarType part = component_type(value.type.scalar);
    const CText imaginary =
        value.operands.size() > 1 ? operand(*value.operands[1], part) : CText{"0"};
    return c_call(helpers_.make_complex(value.type.scalar), operand(*value.operands[0], part),
                  imaginary);
  }
  const bool changes_kind = operation(op).result != ResultRule::Operand;
  const ScalarType common = type;
  std::vector<CText> arguments;
  for (const ValuePtr &argument : value.operands) {
    CText printed = operand(*argument, common);
    arguments.push_back(changes_kind ? printed : converted(printed, common, value.type.scalar));
  }
  if (!changes_kind) {
    type = value.type.scalar;
  }
  return arguments.size() == 2 ? applied(op, type, arguments[0], arguments[1])
                               : unary(op, type, arguments[0]);
}

CText CExpressions::unary(Op op, ScalarType type, const CText &a) {
  if (type.is_complex()) {
    return function_of_complex(op, type, a);
  }
  return type.is_floating() ? function_of_floats(op, type, a) : function_of_integers(op, type, a);
}

CText CExpressions::function_of_integers(Op op, ScalarType type, const CText &a) {
  switch (op) {
  case Op::Not:
    return type.is_bool() ? CText{"!" + a.at_least(CPrecedence::Prefix), CPrecedence::Prefix}
           : type.bits < 32
               ? c_cast(c_type(type), {"~" + a.at_least(CPrecedence::Prefix), CPrecedence::Prefix})
               : CText{"~" + a.at_least(CPrecedence::Prefix), CPrecedence::Prefix};
  case Op::Abs:
    return type.is_signed_integer() ? c_call(helpers_.integer(op, type), a) : a;
  case Op::Neg:
  case Op::Sign:
  case Op::BitCount:
  case Op::CountLeadingZeros:
  case Op::CountTrailingZeros:
    return c_call(helpers_.integer(op, type), a);
  case Op::Floor:
  case Op::Ceil:
  case Op::Trunc:
  case Op::Rint:
  case Op::Real:
  case Op::Conj:
    return a;
  case Op::Imag:
    return {"0"};
  case Op::Isnan:
    return {"false"};
  default:
    throw Error(ErrorKind::Internal, "no C for " + op_name(op) + " of integers");
  }
}

CText CExpressions::function_of_floats(Op op, ScalarType type, const CText &a) {
  const ScalarType inside = computed(type);
  const std::string suffix = inside.bits == 64 ? "" : "f";
  switch (op) {
  case Op::Neg:
    return {"-" + a.beside(CPrecedence::Prefix), CPrecedence::Prefix};
  case Op::Abs:
    return c_call("fabs" + suffix, a);
  case Op::Floor:
  case Op::Ceil:
  case Op::Trunc:
  case Op::Rint:
    return c_call(op_name(op) + suffix, a); // of a narrow number, one of them
  case Op::Sqrt:
    return rounded(c_call("sqrt" + suffix, a), type);
  case Op::Isnan:
    return c_call("isnan", a);
  case Op::Sign:
    return c_call(helpers_.real(op, inside), a);
  case Op::Real:
  case Op::Conj:
    return a;
  case Op::Imag:
    return {"0"};
  default:
    return rounded(c_call(helpers_.elementary(op, inside), a), type);
  }
}

CText CExpressions::function_of_complex(Op op, ScalarType type, const CText &a) {
  const ScalarType part = component_type(type);
  const std::string suffix = part.bits == 64 ? "" : "f";
  switch (op) {
  case Op::Real:
    return c_call("creal" + suffix, a);
  case Op::Imag:
    return c_call("cimag" + suffix, a);
  case Op::Abs:
    return c_call(helpers_.elementary(Op::Hypot, part), c_call("creal" + suffix, a),
                  c_call("cimag" + suffix, a));
  default:
    return c_call(helpers_.complex(op, type), a);
  }
}

} // namespace tilewright
