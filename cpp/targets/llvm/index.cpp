#include "targets/llvm/index.h"

#include <algorithm>
#include <optional>

namespace tilewright {

namespace {

std::optional<std::int64_t> integer_constant(const Value &value) {
  if (const auto *broadcast = as<Broadcast>(value)) {
    return integer_constant(*broadcast->operand());
  }
  if (const auto *constant = as<Constant>(value)) {
    if (const auto *number = std::get_if<std::int64_t>(&constant->value)) {
      return *number;
    }
  }
  return std::nullopt;
}

class Splitter {
public:
  explicit Splitter(SubscriptSum &sum) : sum_(sum) {}

  void add(const Value &value, std::int64_t coefficient) {
    switch (value.kind) {
    case ValueKind::Constant:
      if (const auto number = integer_constant(value)) {
        sum_.constant += *number * coefficient;
        return;
      }
      break;
    case ValueKind::Ramp: {
      const auto &ramp = cast<Ramp>(value);
      SubscriptSum lanes;
      lanes.lane_step = ramp.stride * coefficient;
      lanes.inner = ramp.inner;
      lanes.inner_step = ramp.inner_stride * coefficient;
      const int inner = std::max(sum_.inner, lanes.inner);
      if (!split_lanes(sum_, inner) || !split_lanes(lanes, inner)) {
        sum_.regular = false;
        return;
      }
      sum_.lane_step += lanes.lane_step;
      sum_.inner_step += lanes.inner_step;
      add(*value.operands[0], coefficient);
      return;
    }
    case ValueKind::Broadcast:
      add(*value.operands[0], coefficient);
      return;
    case ValueKind::Unary:
      if (cast<Unary>(value).op == Op::Neg) {
        add(*value.operands[0], -coefficient);
        return;
      }
      break;
    case ValueKind::Binary:
      if (add_binary(cast<Binary>(value), coefficient)) {
        return;
      }
      break;
    default:
      break;
    }
    std::vector<SubscriptTerm> &terms = value.type.lanes > 1 ? sum_.of_lanes : sum_.terms;
    for (SubscriptTerm &term : terms) {
      if (term.value == &value) {
        term.coefficient += coefficient;
        return;
      }
    }
    terms.push_back({&value, coefficient});
  }

private:
  bool add_binary(const Binary &value, std::int64_t coefficient) {
    const Value &a = *value.left();
    const Value &b = *value.right();
    if (value.op == Op::Add || value.op == Op::Sub) {
      add(a, coefficient);
      add(b, value.op == Op::Add ? coefficient : -coefficient);
      return true;
    }
    if (value.op == Op::Mul) {
      if (const auto factor = integer_constant(b)) {
        add(a, coefficient * *factor);
        return true;
      }
      if (const auto factor = integer_constant(a)) {
        add(b, coefficient * *factor);
        return true;
      }
    }
    return false;
  }

  SubscriptSum &sum_;
};

} // namespace

bool split_lanes(SubscriptSum &sum, int inner) {
  if (sum.inner == inner) {
    return true;
  }
  if (sum.inner != 1) {
    return false;
  }
  sum.inner = inner;
  sum.inner_step = sum.lane_step;
  sum.lane_step *= inner;
  return true;
}

SubscriptSum split_subscript(const Value &subscript) {
  SubscriptSum sum;
  Splitter(sum).add(subscript, 1);
  return sum;
}

} // namespace tilewright
