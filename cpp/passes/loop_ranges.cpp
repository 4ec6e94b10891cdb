#include "passes/loop_ranges.h"

#include "algorithm/size_parameters.h"
#include "loops/traverse.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace tilewright {

namespace {

/// Doubles: exact enough to tell 2**62 from 2**63, and they do not wrap.
struct Span {
  double lower = 0;
  double upper = 0;
  double magnitude() const { return std::max(std::abs(lower), std::abs(upper)); }
};

constexpr auto largest_parameter = static_cast<double>(largest_size_parameter);
constexpr double largest_value = 0x1p63;
constexpr double largest_index = 0x1p62; // what linear.h takes for an index

class LoopRanges {
public:
  LoopRanges(const Kernel &kernel, const Ranges &known)
      : kernel_(kernel), known_(known), numbers_(kernel.body) {}

  StmtPtr settle(const StmtPtr &statement) {
    if (is<For>(statement)) {
      return settle_loop(statement);
    }
    if (const auto *test = as<If>(statement)) {
      check_indices(test->condition, "a condition");
    } else if (const auto *change = as<ElementChange>(statement)) {
      for (const ValuePtr &subscript : change->subscripts) {
        check_indices(subscript, "a subscript");
      }
    }
    return map_children(with_numbers(statement),
                        [&](const StmtPtr &child) { return settle(child); });
  }

private:
  /// A variable that may be larger than a size, and the local that has it as a number.
  struct WideVariable {
    std::int64_t local = 0;
    bool is_used = false;
  };

  StmtPtr settle_loop(const StmtPtr &statement) {
    const auto &loop = cast<For>(statement);
    const std::string what = "loop '" + loop.name + "'";
    const auto lower = span_of(loop.lower, what);
    const auto upper = span_of(loop.upper, what);
    if (lower && upper) {
      const Span span{lower->lower, std::max(lower->lower, upper->upper - 1)};
      variables_[loop.id] = span;
      if (span.magnitude() > largest_parameter) {
        wide_[loop.id] = {numbers_.next()};
      }
    }
    const StmtPtr body = settle(loop.body());
    const auto wide = wide_.find(loop.id);
    if (wide == wide_.end() || !wide->second.is_used) {
      return with_children(statement, {body});
    }
    const StmtPtr number =
        declare_local(wide->second.local, loop.name + "_number", variable(loop.id, loop.name));
    return with_children(statement, {block({number, body})});
  }

  /// `statement`, if it computes a value, with numbers instead of variables where the arithmetic on
  /// these may wrap.
  StmtPtr with_numbers(const StmtPtr &statement) {
    const auto *change = as<ElementChange>(statement);
    const auto *definition = as<Definition>(statement);
    const bool computes = change != nullptr || (definition != nullptr && !is<Let>(statement));
    if (!computes || wide_.empty()) {
      return statement;
    }
    const ValuePtr &computed = change != nullptr ? change->value : definition->value;
    ValueRewriter rewriter([&](const ValuePtr &value) -> ValuePtr {
      if (is<Load>(value)) {
        return value; // its subscripts are known to lie in the array
      }
      if (!is_index(value)) {
        return nullptr;
      }
      return magnitude(value) < largest_index ? value : number_of(value);
    });
    // Only the value: subscripts beside it are known to lie in the array.
    return map_values(statement, [&](const ValuePtr &value) {
      return value == computed ? rewriter(value) : value;
    });
  }

  ValuePtr number_of(const ValuePtr &index) {
    return ValueRewriter([&](const ValuePtr &value) -> ValuePtr {
      const auto *own = as<Variable>(value);
      const auto wide = own != nullptr ? wide_.find(own->id) : wide_.end();
      if (wide == wide_.end()) {
        return nullptr;
      }
      wide->second.is_used = true;
      return local(wide->second.local, own->name + "_number", own->type);
    })(index);
  }

  /// What index arithmetic reaches on its way, for the loops around.
  double magnitude(const ValuePtr &index) const {
    switch (index->kind) {
    case ValueKind::Variable: {
      const auto found = variables_.find(cast<Variable>(index).id);
      return found == variables_.end() ? largest_parameter : found->second.magnitude();
    }
    case ValueKind::Unary:
      return magnitude(index->operands[0]);
    case ValueKind::Binary: {
      const auto &binary = cast<Binary>(index);
      const double a = magnitude(binary.left());
      const double b = magnitude(binary.right());
      const double result = binary.op == Op::Mul                           ? a * b
                            : binary.op == Op::Add || binary.op == Op::Sub ? a + b
                                                                           : 0;
      return std::max({a, b, result});
    }
    default: {
      const auto number = as_integer(index);
      return number ? std::abs(static_cast<double>(*number)) : largest_parameter;
    }
    }
  }

  /// What the passes take for an index, in a value of other things too.
  void check_indices(const ValuePtr &value, const std::string &what) const {
    if (is_index(value)) {
      span_of(value, what);
      return;
    }
    for (const ValuePtr &operand : value->operands) {
      check_indices(operand, what);
    }
  }

  /// Where a value lies; nothing where data decide it. `what` it belongs to.
  std::optional<Span> span_of(const ValuePtr &value, const std::string &what) const {
    std::optional<Span> span = span_of_node(value, what);
    if (span && (span->lower < -largest_value || span->upper >= largest_value)) {
      throw Error(ErrorKind::Schedule,
                  what + " of function '" + kernel_.name +
                      "' may pass 64 bits: it multiplies sizes, which may be as large as "
                      "2**40, by the factors and coefficients of the schedule; give smaller ones, "
                      "or say how large the sizes are, e.g. tw.params(\"N\", \"N <= 100000\")");
    }
    return span;
  }

  std::optional<Span> span_of_node(const ValuePtr &value, const std::string &what) const {
    switch (value->kind) {
    case ValueKind::Constant:
      if (const auto number = as_integer(value)) {
        return Span{static_cast<double>(*number), static_cast<double>(*number)};
      }
      return std::nullopt;
    case ValueKind::Variable: {
      const auto found = variables_.find(cast<Variable>(value).id);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    }
    case ValueKind::Parameter:
      return span_of_parameter(cast<Parameter>(value).position);
    case ValueKind::Select: {
      const auto then = span_of(value->operands[1], what);
      const auto otherwise = span_of(value->operands[2], what);
      return then && otherwise ? std::optional(Span{std::min(then->lower, otherwise->lower),
                                                    std::max(then->upper, otherwise->upper)})
                               : std::nullopt;
    }
    case ValueKind::Binary: {
      const auto a = span_of(value->operands[0], what);
      const auto b = span_of(value->operands[1], what);
      return a && b ? combined(cast<Binary>(value).op, *a, *b) : std::nullopt;
    }
    default:
      return std::nullopt;
    }
  }

  Span span_of_parameter(std::int64_t position) const {
    Span span{-largest_parameter, largest_parameter};
    const auto found = known_.parameters.find(position);
    if (found != known_.parameters.end()) {
      const auto &[lower, upper] = found->second;
      span.lower = lower ? std::max(span.lower, static_cast<double>(*lower)) : span.lower;
      span.upper = upper ? std::min(span.upper, static_cast<double>(*upper)) : span.upper;
    }
    return span;
  }

  static std::optional<Span> combined(Op op, const Span &a, const Span &b) {
    switch (op) {
    case Op::Add:
      return Span{a.lower + b.lower, a.upper + b.upper};
    case Op::Sub:
      return Span{a.lower - b.upper, a.upper - b.lower};
    case Op::Mul: {
      if (a.lower != a.upper && b.lower != b.upper) {
        return std::nullopt; // no loop of a schedule has a product of sizes
      }
      const auto [least, most] =
          std::minmax({a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper});
      return Span{least, most};
    }
    case Op::FloorDiv:
      return b.lower == b.upper && b.lower > 0
                 ? std::optional(Span{std::floor(a.lower / b.lower), std::floor(a.upper / b.lower)})
                 : std::nullopt;
    case Op::Mod:
      return b.lower == b.upper && b.lower > 0 ? std::optional(Span{0, b.lower - 1}) : std::nullopt;
    case Op::Min:
      return Span{std::min(a.lower, b.lower), std::min(a.upper, b.upper)};
    case Op::Max:
      return Span{std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
    default:
      return std::nullopt;
    }
  }

  const Kernel &kernel_;
  const Ranges &known_;
  Numbers numbers_;
  std::map<std::int64_t, Span> variables_;
  std::map<std::int64_t, WideVariable> wide_;
};

} // namespace

StmtPtr settle_loop_ranges(const Kernel &kernel, const Ranges &known) {
  return LoopRanges(kernel, known).settle(kernel.body);
}

} // namespace tilewright
