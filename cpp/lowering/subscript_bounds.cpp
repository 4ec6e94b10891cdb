#include "lowering/subscript_bounds.h"

#include <limits>

namespace tilewright {

namespace {

/// Sums of such constants with values that are no larger than `far` are exact.
constexpr std::int64_t small = std::int64_t{1} << 38;

/// All values of an integer type; nothing where an end does not fit int64.
Interval values_of(ScalarType type) {
  if (type.is_bool()) {
    return {0, 1};
  }
  if (type.kind == TypeKind::UInt) {
    return {0, type.bits < 64 ? std::optional((std::int64_t{1} << type.bits) - 1) : std::nullopt};
  }
  if (!type.is_signed_integer()) {
    return {};
  }
  const std::int64_t half = std::int64_t{1} << (type.bits - 2);
  return {-half - half, half - 1 + half};
}

class Bounds {
public:
  Bounds(const Ranges &known, const Definitions &definitions)
      : known_(known), definitions_(definitions) {}

  /// value <= limit?
  bool at_most(const ValuePtr &value, const Linear &limit) const {
    return holds(value, limit, true);
  }
  /// value >= limit?
  bool at_least(const ValuePtr &value, const Linear &limit) const {
    return holds(value, limit, false);
  }

private:
  bool holds(const ValuePtr &value, const Linear &limit, bool upper) const {
    if (const ValuePtr definition = definition_of(*value)) {
      return holds(definition, limit, upper);
    }
    if (is_index(value)) {
      const auto linear = linear_of(value);
      const auto distance =
          !linear ? std::nullopt
                  : (upper ? combine(limit, *linear, -1) : combine(*linear, limit, -1));
      return distance && not_negative(*distance);
    }
    if (type_holds(value->type.scalar, limit, upper)) {
      return true;
    }
    switch (value->kind) {
    case ValueKind::Cast:
      return is_widening(*value) && holds(value->operands[0], limit, upper);
    case ValueKind::Select:
      return holds(value->operands[1], limit, upper) && holds(value->operands[2], limit, upper);
    case ValueKind::Binary:
      return operation_holds(cast<Binary>(value), limit, upper);
    case ValueKind::Call:
      return remainder_holds(cast<Call>(value), limit, upper);
    case ValueKind::Constant: {
      const auto *number = std::get_if<std::int64_t>(&cast<Constant>(value).value);
      const auto distance = number == nullptr ? std::nullopt
                                              : (upper ? combine(limit, Linear{{}, *number}, -1)
                                                       : combine(Linear{{}, *number}, limit, -1));
      return distance && not_negative(*distance);
    }
    default:
      return false;
    }
  }

  bool operation_holds(const Binary &value, const Linear &limit, bool upper) const {
    const ValuePtr &a = value.left();
    const ValuePtr &b = value.right();
    switch (value.op) {
    case Op::Min:
    case Op::Max: {
      const bool one_is_enough = (value.op == Op::Min) == upper;
      const bool first = holds(a, limit, upper);
      return one_is_enough ? first || holds(b, limit, upper) : first && holds(b, limit, upper);
    }
    case Op::Add:
    case Op::Sub: {
      const auto constant = as_integer(b);
      if (!constant || std::abs(*constant) > small || !is_far_from_wrapping(a)) {
        return false;
      }
      const std::int64_t shift = value.op == Op::Add ? *constant : -*constant;
      const auto moved = combine(limit, Linear{{}, shift}, -1);
      return moved && holds(a, *moved, upper);
    }
    case Op::Mod: {
      // Of the sign of the divisor, and smaller.
      const auto divisor = as_integer(b);
      return divisor && *divisor > 0 &&
             (upper ? not_negative(*combine(limit, Linear{{}, *divisor - 1}, -1))
                    : not_negative(*combine(Linear{}, limit, -1)));
    }
    default:
      return false;
    }
  }

  /// Of fmod(a, b): smaller than b, and of the sign of a.
  bool remainder_holds(const Call &value, const Linear &limit, bool upper) const {
    const auto divisor = value.op == Op::Fmod ? as_integer(value.operands[1]) : std::nullopt;
    if (!divisor || *divisor == 0 || *divisor == std::numeric_limits<std::int64_t>::min()) {
      return false;
    }
    if (upper) {
      return not_negative(*combine(limit, Linear{{}, std::abs(*divisor) - 1}, -1));
    }
    return not_negative(*combine(Linear{}, limit, -1)) && holds(value.operands[0], {}, false);
  }

  ValuePtr definition_of(const Value &value) const {
    const auto *local = as<Local>(value);
    const auto *variable = as<Variable>(value);
    if (local == nullptr && variable == nullptr) {
      return nullptr;
    }
    const auto found = definitions_.find(local != nullptr ? local->id : variable->id);
    return found == definitions_.end() ? nullptr : found->second;
  }

  /// Can a small constant be added without wrapping?
  bool is_far_from_wrapping(const ValuePtr &value) const {
    constexpr std::int64_t far = std::int64_t{1} << 39;
    return value->type.scalar == Int64 && holds_far(value, far, true) &&
           holds_far(value, -far, false);
  }

  /// As holds(), where index values are far from the ends by what index values are.
  bool holds_far(const ValuePtr &value, std::int64_t limit, bool upper) const {
    if (const ValuePtr definition = definition_of(*value)) {
      return holds_far(definition, limit, upper);
    }
    if (is_index(value) || type_holds(value->type.scalar, Linear{{}, limit}, upper)) {
      return true;
    }
    switch (value->kind) {
    case ValueKind::Cast:
      return is_widening(*value) && holds_far(value->operands[0], limit, upper);
    case ValueKind::Select:
      return holds_far(value->operands[1], limit, upper) &&
             holds_far(value->operands[2], limit, upper);
    case ValueKind::Binary: {
      const auto &binary = cast<Binary>(value);
      if (binary.op != Op::Min && binary.op != Op::Max) {
        return false;
      }
      const bool one_is_enough = (binary.op == Op::Min) == upper;
      const bool first = holds_far(binary.left(), limit, upper);
      const bool second = holds_far(binary.right(), limit, upper);
      return one_is_enough ? first || second : first && second;
    }
    default:
      return false;
    }
  }

  /// Does every value of the type meet the limit?
  bool type_holds(ScalarType type, const Linear &limit, bool upper) const {
    const Interval all = values_of(type);
    const auto &end = upper ? all.upper : all.lower;
    if (!end) {
      return false;
    }
    const auto distance =
        upper ? combine(limit, Linear{{}, *end}, -1) : combine(Linear{{}, *end}, limit, -1);
    return distance && not_negative(*distance);
  }

  /// A cast between integers that keeps every value.
  static bool is_widening(const Value &conversion) {
    const Interval from = values_of(conversion.operands[0]->type.scalar);
    const Interval to = values_of(conversion.type.scalar);
    return from.lower && from.upper && to.lower && *to.lower <= *from.lower &&
           (!to.upper || *from.upper <= *to.upper);
  }

  bool not_negative(const Linear &linear) const {
    const Interval interval = known_.of(linear);
    return interval.lower && *interval.lower >= 0;
  }

  const Ranges &known_;
  const Definitions &definitions_;
};

} // namespace

bool always_inside(const ValuePtr &subscript, const ValuePtr &extent, const Ranges &known,
                   const Definitions &definitions) {
  if (!is_index(extent)) {
    return false;
  }
  auto last = linear_of(extent);
  if (!last) {
    return false;
  }
  last->constant -= 1;
  const Bounds bounds(known, definitions);
  return bounds.at_least(subscript, Linear{}) && bounds.at_most(subscript, *last);
}

} // namespace tilewright
