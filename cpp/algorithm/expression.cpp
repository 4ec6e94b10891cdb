#include "algorithm/expression.h"

#include "algorithm/expression_depth.h"
#include "algorithm/expression_nodes.h"
#include "algorithm/function.h"
#include "polyhedral/counted.h"

#include <cmath>
#include <utility>

namespace tilewright {

namespace nodes {

ExprPtr make(Expr node) { return finished(std::move(node)); }

Expr node_of(ExprKind kind, ScalarType type, std::vector<ExprPtr> operands, Op op) {
  Expr node{};
  node.kind = kind;
  node.type = type;
  node.operands = std::move(operands);
  node.op = op;
  return node;
}

void refuse(const std::string &message) { throw Error(ErrorKind::Type, message); }

void require(const ExprPtr &expr, const std::string &what) {
  if (!expr) {
    refuse(what + " is missing an operand");
  }
}

std::string quoted(Op op) { return "'" + op_name(op) + "'"; }

void require_operand(const Operand &operand, const std::string &what) {
  if (const ExprPtr *expr = std::get_if<ExprPtr>(&operand)) {
    require(*expr, what);
  }
}

bool IntegerValue::fits(ScalarType type) const {
  if (!negative) {
    return magnitude <= integer_max(type);
  }
  return type.is_signed_integer() && magnitude <= integer_max(type) + 1;
}

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

} // namespace nodes

using namespace nodes;

namespace {

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

} // namespace

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

ExprPtr access_state(ComputationPtr producer, std::vector<ExprPtr> subscripts, size_t state,
                     ScalarType type, SourceLocation where) {
  Expr node = *access(std::move(producer), std::move(subscripts), std::move(where));
  node.type = type;
  node.position = state + 1;
  return make(std::move(node));
}

ExprPtr with_producer(const ExprPtr &access, ComputationPtr producer) {
  Expr node = *access;
  if (node.position == 0) {
    node.type = producer->type;
  }
  node.producer = std::move(producer);
  return make(std::move(node));
}

ExprPtr cast(ExprPtr a, ScalarType type) {
  require(a, "a cast to " + type_name(type));
  if (a->type == type) {
    return a;
  }
  return make(node_of(ExprKind::Cast, type, {std::move(a)}));
}

ExprPtr checked_index(ExprPtr subscript, ExprPtr extent, std::string array, size_t axis,
                      SourceLocation where) {
  require(subscript, "'checked'");
  require(extent, "'checked'");
  for (const auto &[name, given] : {std::pair("subscript", &subscript), {"extent", &extent}}) {
    if (!(*given)->type.is_integer()) {
      throw Error(ErrorKind::Type,
                  "the " + std::string(name) + " of 'checked' must be an integer, but " +
                      to_string(*given) + " is " + type_name((*given)->type),
                  std::move(where));
    }
  }
  visit(extent, [&](const ExprPtr &part) {
    const bool is_size = part->kind == ExprKind::Constant || part->kind == ExprKind::Parameter ||
                         part->kind == ExprKind::Unary || part->kind == ExprKind::Binary ||
                         part->kind == ExprKind::Cast;
    if (!is_size) {
      throw Error(ErrorKind::Type,
                  "the extent of 'checked' is an expression of parameters, but " +
                      to_string(extent) + " has " + to_string(part) + " in it",
                  where);
    }
  });
  Expr node = node_of(ExprKind::Checked, Int64,
                      {cast(std::move(subscript), Int64), cast(std::move(extent), Int64)});
  node.name = std::move(array);
  node.position = axis;
  node.where = std::move(where);
  return make(std::move(node));
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

ExprPtr strengthen(const Operand &operand) {
  if (const ExprPtr *expr = std::get_if<ExprPtr>(&operand)) {
    require(*expr, "an expression");
    return *expr;
  }
  const auto &weak = std::get<WeakNumber>(operand);
  return constant(weak.value, natural_type(weak));
}

} // namespace tilewright
