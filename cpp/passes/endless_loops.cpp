#include "passes/endless_loops.h"

#include "loops/traverse.h"

namespace tilewright {

std::string flag_that_ends(const For &loop) {
  const std::string turns = "turn_";
  const auto *bound = as<Parameter>(loop.upper);
  const bool is_endless =
      bound != nullptr && bound->name.starts_with("while_limit") && loop.name.starts_with(turns);
  return is_endless ? "left_" + loop.name.substr(turns.size()) : "";
}

std::vector<ValuePtr> conjuncts_of(const ValuePtr &test) {
  std::vector<ValuePtr> found;
  operands_of(Op::And, test, found);
  return found;
}

ValuePtr denied(const ValuePtr &test) {
  const auto *unary = as<Unary>(test);
  return unary != nullptr && unary->op == Op::Not ? unary->operand() : nullptr;
}

} // namespace tilewright
