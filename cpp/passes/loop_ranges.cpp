#include "passes/loop_ranges.h"

#include "algorithm/size_parameters.h"
#include "loops/build.h"

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
};

constexpr auto largest_parameter = static_cast<double>(largest_size_parameter);
constexpr double largest_value = 0x1p63;

class LoopRanges {
public:
  LoopRanges(const Kernel &kernel, const Ranges &known) : kernel_(kernel), known_(known) {}

  void check(const StmtPtr &statement) {
    if (const auto *loop = as<For>(statement)) {
      const std::string what = "loop '" + loop->name + "'";
      const auto lower = span_of(loop->lower, what);
      const auto upper = span_of(loop->upper, what);
      if (lower && upper) {
        variables_[loop->id] = {lower->lower, std::max(lower->lower, upper->upper - 1)};
      }
    } else if (const auto *test = as<If>(statement)) {
      check_indices(test->condition, "a condition");
    } else if (const auto *change = as<ElementChange>(statement)) {
      for (const ValuePtr &subscript : change->subscripts) {
        check_indices(subscript, "a subscript");
      }
    }
    for (const StmtPtr &child : statement->children) {
      check(child);
    }
  }

private:
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
  std::map<std::int64_t, Span> variables_;
};

} // namespace

void require_loops_in_range(const Kernel &kernel, const Ranges &known) {
  LoopRanges(kernel, known).check(kernel.body);
}

} // namespace tilewright
