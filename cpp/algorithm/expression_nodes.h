// What the builders of expressions share: nodes, refusals, and what Python's weak numbers become
// beside other operands. For the files that implement expression.h only.
#pragma once

#include "algorithm/expression.h"

#include <optional>
#include <string>
#include <vector>

namespace tilewright::nodes {

ExprPtr make(Expr node);
Expr node_of(ExprKind kind, ScalarType type, std::vector<ExprPtr> operands = {}, Op op = Op::None);

[[noreturn]] void refuse(const std::string &message);
std::string quoted(Op op);
void require(const ExprPtr &expr, const std::string &what);
void require_operand(const Operand &operand, const std::string &what);

/// The integer a constant stands for, as sign and magnitude.
struct IntegerValue {
  bool negative = false;
  std::uint64_t magnitude = 0;

  bool fits(ScalarType type) const;
  std::uint64_t bits() const { return negative ? 0 - magnitude : magnitude; }
  std::string text() const { return (negative ? "-" : "") + std::to_string(magnitude); }
};

/// Nothing for a value with a fraction.
std::optional<IntegerValue> as_integer(const ConstantValue &value);
bool is_weak_integer(const WeakNumber &number);

/// The type of a weak number that stands alone: bool, int64, float64 or complex128.
ScalarType natural_type(const WeakNumber &number);
/// The type of an operand; of a weak number, that which it takes beside the other one.
ScalarType type_beside(const Operand &operand, const Operand &other);
ExprPtr bring_to(const Operand &operand, ScalarType type);

} // namespace tilewright::nodes
