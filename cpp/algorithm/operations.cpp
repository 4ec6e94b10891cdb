#include "algorithm/operations.h"

namespace tilewright {

std::optional<Op> operation_named(std::string_view id) {
  for (std::size_t k = 0; k < operation_count; ++k) {
    if (id == operation_table::rows[k].id) {
      return static_cast<Op>(k);
    }
  }
  return std::nullopt;
}

std::string op_name(Op op) { return operation(op).spelling; }

ScalarType operand_type(Op op, ScalarType given) {
  switch (operation(op).operands) {
  case OperandRule::Math:
    return math_type(given);
  case OperandRule::Division:
    return given.is_bool() || given.is_integer() ? Float64 : given;
  case OperandRule::Widened:
    return given.is_bool() ? Int8 : given;
  case OperandRule::Whole:
    return given.is_bool() || given.is_integer() ? given : math_type(given);
  case OperandRule::Component:
    return given.is_complex() ? given : component_type(complex_type(given));
  case OperandRule::Same:
  case OperandRule::Free:
    break;
  }
  return given;
}

ScalarType result_type(Op op, ScalarType operand) {
  switch (operation(op).result) {
  case ResultRule::Truth:
    return Bool;
  case ResultRule::Component:
    return component_type(operand);
  case ResultRule::Complex:
    return complex_type(operand);
  case ResultRule::Count:
    return UInt8;
  case ResultRule::Operand:
    break;
  }
  return operand;
}

} // namespace tilewright
