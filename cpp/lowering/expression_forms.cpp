#include "lowering/expression_forms.h"

#include "algorithm/expression_depth.h"
#include "lowering/expressions.h"
#include "polyhedral/interruption.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright {

bool is_leaf(const Expr &expr) {
  return expr.kind == ExprKind::Constant || expr.kind == ExprKind::Iterator ||
         expr.kind == ExprKind::Parameter;
}

bool contains(const ExprPtr &root, std::initializer_list<ExprKind> kinds) {
  return std::any_of(kinds.begin(), kinds.end(),
                     [&](ExprKind kind) { return contains_kind(root, kind); });
}

bool is_worth_a_local(const ExprPtr &expr) {
  if (is_leaf(*expr)) {
    return false;
  }
  if (expr->kind == ExprKind::Access) {
    return std::any_of(expr->operands.begin(), expr->operands.end(), [](const ExprPtr &subscript) {
      return contains(subscript, {ExprKind::Access});
    });
  }
  return expr->type != Int64 || tree_size_of(expr) > largest_copied || !is_plainly_affine(expr);
}

bool is_named(const Value &value) {
  if (const auto *binary = as<Binary>(value); binary != nullptr && value.type.scalar == Int64 &&
                                              (binary->op == Op::Add || binary->op == Op::Sub)) {
    return is<Constant>(binary->right()) && is_named(*binary->left());
  }
  return is<Local>(value) || is<Variable>(value);
}

ValuePtr value_of_parameter(const std::string &name, const std::vector<std::string> &parameters,
                            const std::map<std::string, std::int64_t> &fixed) {
  if (const auto number = fixed.find(name); number != fixed.end()) {
    return integer(number->second);
  }
  const auto found = std::find(parameters.begin(), parameters.end(), name);
  if (found == parameters.end()) {
    throw Error(ErrorKind::Internal, "parameter '" + name + "' is not one of the program's");
  }
  return parameter_value(found - parameters.begin(), name);
}

ValuePtr apply_node(const Expr &expr, const std::vector<ValuePtr> &operands) {
  switch (expr.kind) {
  case ExprKind::Unary:
    return unary_value(expr.op, operands[0]);
  case ExprKind::Binary:
    return binary_value(expr.op, operands[0], operands[1]);
  case ExprKind::Call:
    return call_value(expr.op, operands, expr.type);
  case ExprKind::Cast:
    return cast_value(operands[0], expr.type);
  case ExprKind::Select:
    return select_value(operands[0], operands[1], operands[2]);
  default:
    throw Error(ErrorKind::Internal, "an expression of this kind has no value of its own");
  }
}

ValuePtr applied(const ExprPtr &root, const std::function<ValuePtr(const ExprPtr &)> &leaf) {
  std::unordered_map<const Expr *, ValuePtr> done;
  const std::function<ValuePtr(const ExprPtr &)> at = [&](const ExprPtr &node) {
    if (const auto known = done.find(node.get()); known != done.end()) {
      return known->second;
    }
    count_visit();
    ValuePtr value = leaf(node);
    if (!value) {
      std::vector<ValuePtr> operands;
      for (const ExprPtr &operand : node->operands) {
        operands.push_back(at(operand));
      }
      value = apply_node(*node, operands);
    }
    done.emplace(node.get(), value);
    return value;
  };
  return at(root);
}

bool is_large(const Expr &select) {
  constexpr std::uint64_t large = 64;
  return tree_size_of(select.operands[1]) + tree_size_of(select.operands[2]) > large;
}

ExprPtr flattened(const ExprPtr &expr, const IterationSpace &space) {
  if (expr->type != Int64 || tree_size_of(expr) <= largest_copied || !is_plainly_affine(expr)) {
    return expr;
  }
  const auto affine = to_affine(expr, space);
  return affine ? from_affine(*affine, space.iterators) : expr;
}

ValuePtr translate_parameters(const ExprPtr &root, const Program &program) {
  const ExprPtr expr = flattened(root, {});
  return applied(expr, [&](const ExprPtr &node) -> ValuePtr {
    if (node->kind == ExprKind::Constant) {
      return constant_of(node->value, node->type);
    }
    return node->kind == ExprKind::Parameter
               ? value_of_parameter(node->name, program.parameters, program.fixed)
               : nullptr;
  });
}

} // namespace tilewright
