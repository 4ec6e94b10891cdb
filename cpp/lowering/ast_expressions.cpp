#include "lowering/ast_expressions.h"

#include "lowering/expression_forms.h"

#include <isl/aff.h>
#include <isl/ast.h>
#include <isl/id.h>
#include <isl/val.h>

#include <functional>

namespace tilewright {

namespace {

constexpr const char *doing_ast_expressions = "translating loops";

std::int64_t integer_of(isl_val *value) {
  const isl::val owned = checked(isl::manage(value), doing_ast_expressions);
  if (isl_val_is_int(owned.get()) != isl_bool_true) {
    throw Error(ErrorKind::Internal, "isl gave a number that is no integer");
  }
  constexpr long widest = 1L << 62;
  if (isl_val_cmp_si(owned.get(), widest) > 0 || isl_val_cmp_si(owned.get(), -widest) < 0) {
    throw Error(ErrorKind::Schedule,
                "the loops of this schedule need numbers beyond 64 bits, in which they cannot "
                "count; give smaller sizes, shifts or factors");
  }
  return isl_val_get_num_si(owned.get());
}

} // namespace

AstExpressions::AstExpressions(const std::vector<std::string> &parameters,
                               const std::map<std::string, std::int64_t> &fixed) {
  for (const std::string &name : parameters) {
    names_[name] = value_of_parameter(name, parameters, fixed);
  }
}

ValuePtr AstExpressions::translate(const isl::ast_expr &expr) const {
  switch (isl_ast_expr_get_type(expr.get())) {
  case isl_ast_expr_int:
    return integer(integer_of(isl_ast_expr_get_val(expr.get())));
  case isl_ast_expr_id: {
    const isl::id id = checked(isl::manage(isl_ast_expr_get_id(expr.get())), doing_ast_expressions);
    const auto found = names_.find(isl_id_get_name(id.get()));
    if (found == names_.end()) {
      throw Error(ErrorKind::Internal,
                  std::string("isl's loops use an unknown name: ") + isl_id_get_name(id.get()));
    }
    return found->second;
  }
  case isl_ast_expr_op:
    return translate_operation(expr);
  default:
    throw_isl_error(doing_ast_expressions);
  }
}

ValuePtr AstExpressions::condition(const isl::ast_expr &expr) const {
  if (isl_ast_expr_get_type(checked(expr, doing_ast_expressions).get()) == isl_ast_expr_int) {
    return boolean(integer_of(isl_ast_expr_get_val(expr.get())) != 0);
  }
  return translate(expr);
}

ValuePtr AstExpressions::translate(const LoopBound &bound) const {
  ValuePtr sum = integer(0);
  for (const auto &[level, coefficient] : bound.loops) {
    sum = add(sum, mul(integer(coefficient), names_.at(loop_key(level))));
  }
  for (const auto &[name, coefficient] : bound.parameters) {
    sum = add(sum, mul(integer(coefficient), names_.at(name)));
  }
  return floor_div(add(sum, integer(bound.constant)), integer(bound.divisor));
}

ValuePtr AstExpressions::translate(const isl::aff &aff,
                                   const std::vector<ValuePtr> &arguments) const {
  const std::int64_t denominator = integer_of(isl_aff_get_denominator_val(aff.get()));
  const auto scaled = [&](isl_val *value) {
    return integer_of(isl_val_mul(value, isl_val_int_from_si(isl_context().get(), denominator)));
  };
  ValuePtr sum = integer(0);
  const auto add_terms = [&](isl_dim_type type, const std::function<ValuePtr(int)> &term) {
    const int count = isl_aff_dim(aff.get(), type);
    for (int i = 0; i < count; ++i) {
      const std::int64_t coefficient = scaled(isl_aff_get_coefficient_val(aff.get(), type, i));
      if (coefficient != 0) {
        sum = add(sum, mul(integer(coefficient), term(i)));
      }
    }
  };
  add_terms(isl_dim_in, [&](int i) { return arguments.at(static_cast<size_t>(i)); });
  add_terms(isl_dim_param, [&](int i) {
    const char *name = isl_aff_get_dim_name(aff.get(), isl_dim_param, static_cast<unsigned>(i));
    return names_.at(name == nullptr ? "" : name);
  });
  add_terms(isl_dim_div, [&](int i) {
    return translate(checked(isl::manage(isl_aff_get_div(aff.get(), i)), doing_ast_expressions),
                     arguments);
  });
  sum = add(sum, integer(scaled(isl_aff_get_constant_val(aff.get()))));
  return floor_div(sum, integer(denominator));
}

ValuePtr AstExpressions::translate_operation(const isl::ast_expr &expr) const {
  const isl_ast_expr_op_type type = isl_ast_expr_op_get_type(expr.get());
  const bool of_conditions = type == isl_ast_expr_op_and || type == isl_ast_expr_op_and_then ||
                             type == isl_ast_expr_op_or || type == isl_ast_expr_op_or_else;
  const bool chooses = type == isl_ast_expr_op_cond || type == isl_ast_expr_op_select;
  std::vector<ValuePtr> operands;
  const int count = isl_ast_expr_op_get_n_arg(expr.get());
  for (int i = 0; i < count; ++i) {
    const isl::ast_expr operand =
        checked(isl::manage(isl_ast_expr_op_get_arg(expr.get(), i)), doing_ast_expressions);
    const bool is_condition = of_conditions || (chooses && i == 0);
    operands.push_back(is_condition ? condition(operand) : translate(operand));
  }
  const auto chain = [&](Op op) {
    ValuePtr value = operands.at(0);
    for (size_t i = 1; i < operands.size(); ++i) {
      value = binary_value(op, value, operands[i]);
    }
    return value;
  };
  switch (type) {
  case isl_ast_expr_op_and:
  case isl_ast_expr_op_and_then:
    return chain(Op::And);
  case isl_ast_expr_op_or:
  case isl_ast_expr_op_or_else:
    return chain(Op::Or);
  case isl_ast_expr_op_max:
    return chain(Op::Max);
  case isl_ast_expr_op_min:
    return chain(Op::Min);
  case isl_ast_expr_op_minus:
    return sub(integer(0), operands.at(0));
  case isl_ast_expr_op_add:
    return chain(Op::Add);
  case isl_ast_expr_op_sub:
    return chain(Op::Sub);
  case isl_ast_expr_op_mul:
    return chain(Op::Mul);
  case isl_ast_expr_op_div: // exact
  case isl_ast_expr_op_fdiv_q:
  case isl_ast_expr_op_pdiv_q:
    return chain(Op::FloorDiv);
  case isl_ast_expr_op_pdiv_r:
  case isl_ast_expr_op_zdiv_r:
    return chain(Op::Mod);
  case isl_ast_expr_op_cond:
  case isl_ast_expr_op_select:
    return select_value(operands.at(0), operands.at(1), operands.at(2));
  case isl_ast_expr_op_eq:
    return chain(Op::Eq);
  case isl_ast_expr_op_le:
    return chain(Op::Le);
  case isl_ast_expr_op_lt:
    return chain(Op::Lt);
  case isl_ast_expr_op_ge:
    return chain(Op::Ge);
  case isl_ast_expr_op_gt:
    return chain(Op::Gt);
  default:
    throw Error(ErrorKind::Internal, "isl's loops use an operation that is not known here");
  }
}

} // namespace tilewright
