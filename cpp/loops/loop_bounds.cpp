#include "loops/loop_bounds.h"

#include "loops/traverse.h"

namespace tilewright {

bool LoopBounds::depends(const ValuePtr &value) const {
  bool found = false;
  visit_value(value, [&](const Value &inner) {
    const auto *variable = as<Variable>(inner);
    found = found || (variable != nullptr && variables_.contains(variable->id));
  });
  return found;
}

ValuePtr LoopBounds::bound(const ValuePtr &value, bool largest) const {
  if (!depends(value)) {
    return value;
  }
  if (const auto *variable = as<Variable>(value)) {
    const auto &[first, last] = variables_.at(variable->id);
    return largest ? last : first;
  }
  const auto *binary = as<Binary>(value);
  if (binary == nullptr) {
    return nullptr;
  }
  const Op op = binary->op;
  const ValuePtr &a = binary->left();
  const ValuePtr &b = binary->right();
  const auto both_bounds = [&](bool of_a, bool of_b) -> ValuePtr {
    const ValuePtr left = bound(a, of_a);
    const ValuePtr right = bound(b, of_b);
    return left && right ? binary_value(op, left, right) : nullptr;
  };
  switch (op) {
  case Op::Add:
  case Op::Max:
  case Op::Min: {
    ValuePtr result = both_bounds(largest, largest);
    const bool one_is_enough = (op == Op::Min && largest) || (op == Op::Max && !largest);
    if (result || !one_is_enough) {
      return result;
    }
    ValuePtr left = bound(a, largest);
    return left ? left : bound(b, largest);
  }
  case Op::Sub:
    return both_bounds(largest, !largest);
  case Op::Mul: {
    const auto left = as_integer(a);
    const auto right = as_integer(b);
    if (!left && !right) {
      return nullptr;
    }
    const bool keeps = (left ? *left : *right) >= 0;
    return left ? both_bounds(largest, keeps == largest) : both_bounds(keeps == largest, largest);
  }
  case Op::FloorDiv: {
    const auto divisor = as_integer(b);
    return divisor && *divisor > 0 ? both_bounds(largest, largest) : nullptr;
  }
  default:
    return nullptr;
  }
}

} // namespace tilewright
