#include "algorithm/extern_function.h"

#include "algorithm/block.h"
#include "algorithm/declaration_checks.h"
#include "algorithm/expression_depth.h"
#include "algorithm/expression_nodes.h"
#include "algorithm/function.h"
#include "polyhedral/counted.h"

#include <map>

namespace tilewright {

using namespace nodes;

bool is_extern_type(ScalarType type) {
  switch (type.kind) {
  case TypeKind::Bool:
  case TypeKind::Int:
  case TypeKind::UInt:
    return true;
  case TypeKind::Float:
    return type.bits >= 32;
  default:
    return false;
  }
}

std::string extern_signature(const ExternFunction &function) {
  if (function.block) {
    return "block " + function.block->name;
  }
  std::string text = function.name + "(";
  for (size_t a = 0; a < function.arguments.size(); ++a) {
    text += (a == 0 ? "" : ", ") + type_name(function.arguments[a]);
  }
  return text + ") -> " + type_name(function.result);
}

std::string extern_key(const ExternFunction &function) {
  if (!function.block) {
    return extern_signature(function);
  }
  const BlockFunction &block = *function.block;
  std::string text = "block " + block.name + (block.is_described ? " described" : "") +
                     (block.returns_code ? " returns" : "");
  for (const BlockArgument &argument : block.arguments) {
    const auto kind = static_cast<int>(argument.kind);
    text += " " + std::to_string(kind) + "." + std::to_string(argument.index) +
            (argument.by_reference ? "&" : "");
  }
  for (const BlockResult &result : block.results) {
    text += " " + result.name + (result.initial ? "+" : "");
  }
  for (const ScalarType type : block.numbers) {
    text += " " + type_name(type);
  }
  return text + " " + std::to_string(function.result_of_block);
}

ExprPtr call_extern(const ExternPtr &function, const std::vector<Operand> &arguments) {
  const std::string signature = extern_signature(*function);
  if (arguments.size() != function->arguments.size()) {
    refuse(signature + " takes " + counted(function->arguments.size(), "argument") + ", not " +
           std::to_string(arguments.size()));
  }
  std::vector<ExprPtr> operands;
  for (size_t a = 0; a < arguments.size(); ++a) {
    require_operand(arguments[a], "'" + function->name + "'");
    const ScalarType type = function->arguments[a];
    if (const auto *weak = std::get_if<WeakNumber>(&arguments[a]);
        weak != nullptr && promote_weak(type, weak->kind) == type) {
      operands.push_back(constant(weak->value, type));
      continue;
    }
    ExprPtr value = strengthen(arguments[a]);
    if (!can_cast_same_kind(value->type, type)) {
      refuse("argument " + std::to_string(a) + " of " + signature + " is " + type_name(type) +
             ", but " + to_string(value) + " is of type " + type_name(value->type) +
             "; convert it, as tw." + type_name(type) + "(...) does");
    }
    operands.push_back(cast(std::move(value), type));
  }
  Expr node = node_of(ExprKind::Extern, function->result, std::move(operands));
  node.external = function;
  return make(std::move(node));
}

std::vector<ExternPtr> externs_of(const Function &function) {
  std::map<std::string, ExternPtr> found;
  for (const ComputationPtr &computation : function.computations) {
    for (const Piece &piece : computation->pieces) {
      if (!contains_kind(piece.value, ExprKind::Extern)) {
        continue;
      }
      visit(piece.value, [&](const ExprPtr &node) {
        if (node->kind != ExprKind::Extern || node->external->result_of_block >= 0) {
          return;
        }
        const ExternFunction &own = *node->external;
        const ExternFunction &known = *found.emplace(own.name, node->external).first->second;
        const bool same = known.address == own.address && known.arguments == own.arguments &&
                          known.result == own.result && known.block == own.block;
        if (!same) {
          throw Error(ErrorKind::Declaration,
                      "function " + function.name + " calls two different functions of C named " +
                          own.name + ": " + extern_signature(known) + ", declared at " +
                          line_text(known.where) + ", and " + extern_signature(own) +
                          "; give one of them another name in tw.extern(...)",
                      own.where);
        }
      });
    }
  }
  std::vector<ExternPtr> all;
  all.reserve(found.size());
  for (const auto &[name, external] : found) {
    all.push_back(external);
  }
  return all;
}

std::string extern_symbol(const ExternFunction &function) {
  return "tilewright_extern_" + function.name;
}

std::vector<std::pair<std::string, void *>> extern_symbols(const Function &function) {
  std::vector<std::pair<std::string, void *>> symbols;
  for (const ExternPtr &external : externs_of(function)) {
    symbols.emplace_back(extern_symbol(*external), external->address);
    if (external->block && external->block->is_described) {
      symbols.emplace_back(extern_symbol(*external) + "_context", external->block->context);
    }
  }
  return symbols;
}

} // namespace tilewright
