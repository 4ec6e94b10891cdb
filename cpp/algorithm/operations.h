// The operations of Layer I and what is known of each, from operations.def: forms, operands,
// results, and names here, in Python and in NumPy. What an operation computes stands in scalar.cpp
// for the evaluator and in targets/ for compiled code.
#pragma once

#include "algorithm/type.h"

#include <cstddef>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

// clang-format off
enum class Op {
  None,
#define TILEWRIGHT_OPERATION(id, ...) id,
#include "algorithm/operations.def"
};
// clang-format on

enum class OperationForm { Unary, Binary, Call, Composed, Reduce, Fold };
enum class OperandRule { Same, Math, Division, Widened, Whole, Component, Free };
enum class ResultRule { Operand, Truth, Component, Complex, Count };

/// The columns of operations.def, which explains them.
struct Operation {
  const char *id;
  OperationForm form;
  const char *spelling;
  const char *parameters;
  unsigned kinds; ///< of operands; the bits of kind_bit
  OperandRule operands;
  ResultRule result;
  int flops;
  const char *function;
  const char *ufuncs;
  const char *documentation;

  constexpr int arguments() const {
    int count = 1;
    for (const char c : std::string_view(parameters)) {
      count += c == ' ' ? 1 : 0;
    }
    return count;
  }
  constexpr bool takes(ScalarType type) const;
};

namespace operation_table {

// The letters of operations.def.
inline constexpr unsigned B = 1;
inline constexpr unsigned I = 2;
inline constexpr unsigned F = 4;
inline constexpr unsigned C = 8;

constexpr unsigned kind_bit(ScalarType type) {
  return type.is_bool() ? B : type.is_integer() ? I : type.is_floating() ? F : C;
}

// clang-format off
inline constexpr Operation rows[] = {
    {"None", OperationForm::Unary, "none", "", 0, OperandRule::Free, ResultRule::Operand, 0, "", "", ""},
#define TILEWRIGHT_OPERATION(id, form, spelling, parameters, kinds, operands, result, flops,       \
                             function, ufuncs, documentation)                                      \
    {#id, OperationForm::form, spelling, parameters, kinds, OperandRule::operands,                 \
     ResultRule::result, flops, function, ufuncs, documentation},
#include "algorithm/operations.def"
};
// clang-format on

} // namespace operation_table

inline constexpr std::size_t operation_count = std::size(operation_table::rows);

constexpr const Operation &operation(Op op) {
  return operation_table::rows[static_cast<std::size_t>(op)];
}

constexpr bool Operation::takes(ScalarType type) const {
  return (kinds & operation_table::kind_bit(type)) != 0;
}

/// The operation of that id ("Log10").
std::optional<Op> operation_named(std::string_view id);

/// The spelling used in printed layers: "+", "//", "sqrt", "sum" ...
std::string op_name(Op op);

constexpr bool is_comparison(Op op) { return op >= Op::Lt && op <= Op::Ne; }

/// The type to which an operand of the given type is brought, whether the operation takes that or
/// not.
ScalarType operand_type(Op op, ScalarType given);
/// The type of the result on operands of one type, as operand_type gives it.
ScalarType result_type(Op op, ScalarType operand);

} // namespace tilewright
