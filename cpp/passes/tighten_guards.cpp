#include "passes/tighten_guards.h"

#include "loops/summing_loops.h"
#include "passes/guarded_loop.h"

#include <optional>
#include <set>

namespace tilewright {

namespace {

/// Loaded 64-bit values are brought into this range before index arithmetic, which must not wrap;
/// no loop comes near its ends.
constexpr std::int64_t far_away = std::int64_t{1} << 56;

/// coefficient * variable + rest `op` other; coefficient > 0.
struct Comparison {
  std::int64_t coefficient = 1;
  Linear rest;
  Op op = Op::Lt;
  ValuePtr other;
  bool negated = false; ///< other stands for its negative
};

/// Is it made of data? `variables`: those that hold some.
bool is_data(const ValuePtr &root, const std::set<std::int64_t> &variables) {
  bool found = false;
  visit_value(root, [&](const Value &value) {
    const auto *variable = as<Variable>(value);
    found = found || is<Load>(value) || is<Local>(value) ||
            (variable != nullptr && variables.contains(variable->id));
  });
  return found;
}

/// The variables that hold data.
std::set<std::int64_t> variables_of_data(const StmtPtr &body) {
  std::set<std::int64_t> found;
  visit_statements(body, [&](const LoopStatement &statement) {
    const auto *let = as<Let>(statement);
    if (let != nullptr && is_data(let->value, found)) {
      found.insert(let->id);
    }
  });
  return found;
}

/// One loop while it is tightened.
class TightenedLoop : GuardedLoop {
public:
  TightenedLoop(const For &loop, EnclosingLoops &around, const std::set<std::int64_t> &changed,
                Numbers &numbers, std::set<std::int64_t> &data)
      : GuardedLoop(loop, around, changed), numbers_(numbers), data_(data) {}

  /// Null when no data bounds the loop, and no test leaves one iteration of it.
  StmtPtr tighten() {
    open(true);
    return by_data_ ? rebuild() : nullptr;
  }

private:
  bool take(const ValuePtr &test, Layer &layer) override { return absorb(test, layer); }
  bool goes_deeper() const override { return !only_; }

  void note_hoisted(const LoopStatement &statement) override {
    const auto *let = as<Let>(statement);
    if (let != nullptr && is_data(let->value)) {
      data_.insert(let->id);
    }
  }

  bool is_data(const ValuePtr &root) const { return tilewright::is_data(root, data_); }

  /// The comparison as one of the loop's variable alone with what does not change in the loop.
  std::optional<Comparison> comparison_of(const ValuePtr &test) const {
    const auto *binary = as<Binary>(test);
    const bool known = binary != nullptr && is_comparison(binary->op) && binary->op != Op::Ne &&
                       is_int64(binary->left());
    if (!known) {
      return std::nullopt;
    }
    ValuePtr a = binary->left();
    ValuePtr b = binary->right();
    Comparison result;
    result.op = binary->op;
    if (!mentions(a, loop_.id)) {
      std::swap(a, b);
      result.op = mirrored(result.op);
    }
    if (!mentions(a, loop_.id) || !is_index(a)) {
      return std::nullopt;
    }
    auto linear = linear_of(a);
    result.other = b;
    if (linear && is_index(b)) {
      const auto other = linear_of(b);
      linear = other ? combine(*linear, *other, -1) : std::nullopt;
      result.other = integer(0);
    }
    if (!linear || !is_invariant(result.other)) {
      return std::nullopt;
    }
    result.coefficient = 0;
    result.rest.constant = linear->constant;
    for (const Linear::Term &term : linear->terms) {
      if (is_variable(term.atom, loop_.id)) {
        result.coefficient = term.coefficient;
      } else if (is_invariant(term.atom)) {
        result.rest.terms.push_back(term);
      } else {
        return std::nullopt;
      }
    }
    if (result.coefficient == 0) {
      return std::nullopt;
    }
    if (result.coefficient < 0) {
      const auto negative = combine({}, result.rest, -1);
      if (!negative) {
        return std::nullopt;
      }
      result.rest = *negative;
      result.coefficient = -result.coefficient;
      result.op = mirrored(result.op);
      result.negated = true;
    }
    return result;
  }

  /// `value` in a variable of its own, small enough for index arithmetic.
  ValuePtr as_index(const ValuePtr &value, bool arithmetic, const std::string &name, Layer &layer) {
    if (is_index(value)) {
      return value;
    }
    const auto *conversion = as<Cast>(value);
    const bool narrow = conversion != nullptr && conversion->operand()->type.scalar.bits <= 32 &&
                        !conversion->operand()->type.scalar.is_floating();
    const ValuePtr near = narrow || !arithmetic
                              ? value
                              : maximum(minimum(value, integer(far_away)), integer(-far_away));
    for (const StmtPtr &known : layer.hoisted) {
      const auto *let = as<Let>(known);
      if (let != nullptr && same_value(let->value, near)) {
        return variable(let->id, let->name);
      }
    }
    const std::int64_t id = numbers_.next();
    layer.hoisted.push_back(let(id, name, near));
    data_.insert(id);
    return variable(id, name);
  }

  /// Makes the test part of the loop's bounds; false where that cannot be.
  bool absorb(const ValuePtr &test, Layer &layer) {
    const auto comparison = comparison_of(test);
    if (!comparison) {
      return false;
    }
    const auto &[factor, rest, op, other, negated] = *comparison;
    if (op == Op::Eq && (factor != 1 || only_)) {
      return false;
    }
    const bool is_lower = op == Op::Ge || op == Op::Gt;
    const bool bare = factor == 1 && rest.is_constant() && rest.constant == 0 && !negated;
    const bool arithmetic = !bare || op == Op::Le || op == Op::Gt;
    const std::string name = op == Op::Eq ? loop_.name : is_lower ? "start" : "stop";
    by_data_ = by_data_ || op == Op::Eq || is_data(test);
    const ValuePtr right = as_index(other, arithmetic, name, layer);
    // factor * variable `op` bound
    const ValuePtr offset = value_of(rest);
    const ValuePtr bound = sub(negated ? sub(integer(0), right) : right, offset);
    const auto short_bound = is_index(bound) ? linear_of(bound) : std::nullopt;
    const ValuePtr value = short_bound ? value_of(*short_bound) : bound;
    const auto at_least = [&](std::int64_t up) {
      return floor_div(add(value, integer(up)), integer(factor));
    };
    switch (op) {
    case Op::Eq:
      only_ = value;
      return true;
    case Op::Lt:
      upper_ = minimum(upper_, at_least(factor - 1));
      return true;
    case Op::Le:
      upper_ = minimum(upper_, add(at_least(0), integer(1)));
      return true;
    case Op::Ge:
      lower_ = maximum(lower_, at_least(factor - 1));
      return true;
    default:
      lower_ = maximum(lower_, add(at_least(0), integer(1)));
      return true;
    }
  }

  StmtPtr loop_around(const StmtPtr &body) const override {
    if (!only_) {
      return GuardedLoop::loop_around(body);
    }
    const ValuePtr counter = variable(loop_.id, loop_.name);
    const ValuePtr runs =
        both(binary_value(Op::Le, lower_, counter), binary_value(Op::Lt, counter, upper_));
    return block({let(loop_.id, loop_.name, only_), if_then(runs, body)});
  }

  Numbers &numbers_;
  std::set<std::int64_t> &data_; ///< variables that hold data
  ValuePtr only_;        ///< the one value with which the body runs, where a test is an equality
  bool by_data_ = false; ///< is one of the new bounds data, or all of them one value?
};

} // namespace

StmtPtr tighten_guards(const StmtPtr &body, const Ranges &known) {
  Numbers numbers(body);
  std::set<std::int64_t> data = variables_of_data(body);
  return change_guarded_loops(
      body, known, [&](const For &loop, EnclosingLoops &around, const auto &changed) {
        return TightenedLoop(loop, around, changed, numbers, data).tighten();
      });
}

} // namespace tilewright
