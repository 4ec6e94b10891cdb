#include "targets/llvm/leaving.h"

#include "loops/traverse.h"

#include <algorithm>

namespace tilewright {

void add_flags(const ValuePtr &condition, std::vector<std::int64_t> &flags) {
  std::vector<ValuePtr> parts;
  operands_of(Op::And, condition, parts);
  for (const ValuePtr &part : parts) {
    const auto *denial = as<Unary>(part);
    const auto *flag = denial && denial->op == Op::Not ? as<Local>(denial->operand()) : nullptr;
    if (flag != nullptr) {
      flags.push_back(flag->id);
    }
  }
}

bool sets_one_of(const LoopStatement &statement, const std::vector<std::int64_t> &flags) {
  if (flags.empty()) {
    return false;
  }
  if (statement.kind == StatementKind::Block) {
    return std::any_of(statement.children.begin(), statement.children.end(),
                       [&](const StmtPtr &child) { return sets_one_of(*child, flags); });
  }
  const auto *assignment = as<AssignLocal>(statement);
  const auto *value = assignment && assignment->op == Op::None && is<Constant>(*assignment->value)
                          ? &cast<Constant>(*assignment->value).value
                          : nullptr;
  const auto *holds = value != nullptr ? std::get_if<bool>(value) : nullptr;
  return holds != nullptr && *holds &&
         std::find(flags.begin(), flags.end(), assignment->id) != flags.end();
}

} // namespace tilewright
