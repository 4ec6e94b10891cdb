#include "passes/passes.h"

#include <algorithm>
#include <numeric>

namespace tilewright {

namespace {

class Simplifier {
public:
  Simplifier(const Ranges &ranges, const std::unordered_map<std::int64_t, ValuePtr> &replaced)
      : ranges_(ranges), replaced_(replaced) {}

  ValuePtr operator()(const ValuePtr &value) {
    const auto found = done_.find(value);
    if (found != done_.end()) {
      return found->second;
    }
    ValuePtr result = simplify(value);
    done_.emplace(value, result);
    return result;
  }

  /// Is one of the values whose minimum `upper` is at most one of those whose maximum `lower` is?
  bool is_empty_range(const ValuePtr &lower, const ValuePtr &upper) const {
    std::vector<ValuePtr> firsts;
    std::vector<ValuePtr> ends;
    operands_of(Op::Max, lower, firsts);
    operands_of(Op::Min, upper, ends);
    return std::any_of(firsts.begin(), firsts.end(), [&](const ValuePtr &first) {
      return std::any_of(ends.begin(), ends.end(),
                         [&](const ValuePtr &end) { return order(end, first) < 0; });
    });
  }

private:
  ValuePtr simplify(const ValuePtr &value) {
    if (value->kind == ValueKind::Variable) {
      const auto found = replaced_.find(value->id);
      return found == replaced_.end() ? value : found->second;
    }
    bool changed = false;
    std::vector<ValuePtr> operands;
    operands.reserve(value->operands.size());
    for (const ValuePtr &operand : value->operands) {
      operands.push_back((*this)(operand));
      changed = changed || operands.back() != operand;
    }
    ValuePtr node = changed ? with_operands(value, std::move(operands)) : value;
    if (node->kind != ValueKind::Binary &&
        !(node->kind == ValueKind::Unary && node->op == Op::Neg)) {
      return node;
    }
    if (is_index(node)) {
      return simplify_index(node);
    }
    if (is_comparison(node->op) && is_index(node->operands[0]) && is_index(node->operands[1])) {
      return simplify_comparison(node);
    }
    return node;
  }

  ValuePtr simplify_index(const ValuePtr &node) {
    if (node->op == Op::Min || node->op == Op::Max) {
      return simplify_extremum(node);
    }
    if (node->op == Op::FloorDiv || node->op == Op::Mod) {
      return simplify_division(node);
    }
    const auto linear = linear_of(node);
    if (!linear) {
      return node;
    }
    if (linear->terms.size() == 1 && linear->constant != 0 && linear->terms[0].coefficient == 1) {
      // min(a, b) + c = min(a + c, b + c)
      const ValuePtr &atom = linear->terms[0].atom;
      if (atom->kind == ValueKind::Binary && (atom->op == Op::Min || atom->op == Op::Max)) {
        const ValuePtr shift = integer(linear->constant);
        return simplify_extremum(binary_value(atom->op, (*this)(add(atom->operands[0], shift)),
                                              (*this)(add(atom->operands[1], shift))));
      }
    }
    if (linear->terms.size() == 1 && linear->terms[0].atom == node) {
      return node;
    }
    return value_of(*linear);
  }

  /// The sign of a - b where it is known: is a <= b (-1), a >= b (1), or neither (0)?
  int order(const ValuePtr &a, const ValuePtr &b) const {
    const auto left = linear_of(a);
    const auto right = linear_of(b);
    const auto difference = left && right ? combine(*left, *right, -1) : std::nullopt;
    if (!difference) {
      return 0;
    }
    const Interval interval = ranges_.of(*difference);
    if (interval.upper && *interval.upper <= 0) {
      return -1;
    }
    return interval.lower && *interval.lower >= 0 ? 1 : 0;
  }

  ValuePtr simplify_extremum(const ValuePtr &node) {
    if (node->kind != ValueKind::Binary || (node->op != Op::Min && node->op != Op::Max)) {
      return node;
    }
    std::vector<ValuePtr> all;
    operands_of(node->op, node, all);
    std::vector<ValuePtr> kept;
    for (const ValuePtr &candidate : all) {
      bool needed = true;
      for (auto other = kept.begin(); other != kept.end();) {
        const int sign = order(candidate, *other) * (node->op == Op::Min ? 1 : -1);
        if (sign > 0) {
          needed = false;
          break;
        }
        other = sign < 0 ? kept.erase(other) : other + 1;
      }
      if (needed) {
        kept.push_back(candidate);
      }
    }
    if (kept.size() == all.size()) {
      return node;
    }
    return std::accumulate(
        kept.begin() + 1, kept.end(), kept.front(),
        [&](const ValuePtr &a, const ValuePtr &b) { return binary_value(node->op, a, b); });
  }

  ValuePtr simplify_division(const ValuePtr &node) {
    const auto divisor = as_integer(node->operands[1]);
    const auto dividend = linear_of(node->operands[0]);
    if (!divisor || *divisor <= 0 || !dividend) {
      return node;
    }
    // dividend = divisor * quotient + rest
    Linear quotient;
    Linear rest;
    for (const Linear::Term &term : dividend->terms) {
      if (term.coefficient % *divisor == 0) {
        quotient.terms.push_back({term.atom, term.coefficient / *divisor});
      } else {
        rest.terms.push_back(term);
      }
    }
    quotient.constant = *as_integer(floor_div(integer(dividend->constant), integer(*divisor)));
    rest.constant = dividend->constant - quotient.constant * *divisor;
    const Interval interval = ranges_.of(rest);
    if (interval.lower && interval.upper) {
      const auto low = as_integer(floor_div(integer(*interval.lower), integer(*divisor)));
      const auto high = as_integer(floor_div(integer(*interval.upper), integer(*divisor)));
      if (low && low == high) {
        if (node->op == Op::FloorDiv) {
          quotient.constant += *low;
          return value_of(quotient);
        }
        rest.constant -= *low * *divisor;
        return value_of(rest);
      }
    }
    if (node->op == Op::Mod) {
      return floor_mod(value_of(rest), integer(*divisor));
    }
    return add_linear(quotient, divide_rest(rest, *divisor));
  }

  /// rest // divisor, with common factors cancelled and nested divisions joined.
  static ValuePtr divide_rest(Linear rest, std::int64_t divisor) {
    std::int64_t common = divisor;
    for (const Linear::Term &term : rest.terms) {
      common = std::gcd(common, term.coefficient);
    }
    if (common > 1) {
      for (Linear::Term &term : rest.terms) {
        term.coefficient /= common;
      }
      rest.constant = *as_integer(floor_div(integer(rest.constant), integer(common)));
      divisor /= common;
    }
    if (rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].coefficient == 1) {
      const ValuePtr &inner = rest.terms[0].atom;
      if (inner->kind == ValueKind::Binary && inner->op == Op::FloorDiv) {
        const auto second = as_integer(inner->operands[1]);
        if (second && *second > 0 && *second < (std::int64_t{1} << 30) &&
            divisor < (std::int64_t{1} << 30)) {
          return floor_div(inner->operands[0], integer(divisor * *second));
        }
      }
    }
    return floor_div(value_of(rest), integer(divisor));
  }

  static ValuePtr add_linear(const Linear &linear, const ValuePtr &value) {
    const auto other = linear_of(value);
    const auto sum = other ? combine(*other, linear, 1) : std::nullopt;
    return sum ? value_of(*sum) : add(value_of(linear), value);
  }

  ValuePtr simplify_comparison(const ValuePtr &node) const {
    const auto left = linear_of(node->operands[0]);
    const auto right = linear_of(node->operands[1]);
    const auto difference = left && right ? combine(*left, *right, -1) : std::nullopt;
    if (!difference) {
      return node;
    }
    const Interval interval = ranges_.of(*difference);
    const bool negative = interval.upper && *interval.upper < 0;
    const bool not_positive = interval.upper && *interval.upper <= 0;
    const bool positive = interval.lower && *interval.lower > 0;
    const bool not_negative = interval.lower && *interval.lower >= 0;
    const auto decide = [&](bool yes, bool no) {
      return yes ? boolean(true) : no ? boolean(false) : node;
    };
    switch (node->op) {
    case Op::Lt:
      return decide(negative, not_negative);
    case Op::Le:
      return decide(not_positive, positive);
    case Op::Gt:
      return decide(positive, not_positive);
    case Op::Ge:
      return decide(not_negative, negative);
    case Op::Eq:
      return decide(not_negative && not_positive, negative || positive);
    case Op::Ne:
      return decide(negative || positive, not_negative && not_positive);
    default:
      return node;
    }
  }

  const Ranges &ranges_;
  const std::unordered_map<std::int64_t, ValuePtr> &replaced_;
  std::unordered_map<ValuePtr, ValuePtr> done_;
};

class SimplifyStatements {
public:
  explicit SimplifyStatements(Ranges ranges) : ranges_(std::move(ranges)) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->kind == StatementKind::Block) {
      std::vector<StmtPtr> children;
      for (const StmtPtr &child : statement->children) {
        children.push_back((*this)(child));
      }
      return block(std::move(children));
    }
    Simplifier simplify(ranges_, replaced_);
    StmtPtr node = map_values(statement, std::ref(simplify));
    if (node->kind == StatementKind::For) {
      return simplify_loop(with_known_bounds(node), simplify);
    }
    if (node->kind == StatementKind::If) {
      return simplify_if(node);
    }
    if (node->kind == StatementKind::While) {
      return with_children(node, {(*this)(node->children[0])});
    }
    if (node->kind == StatementKind::Allocate || node->kind == StatementKind::Timed ||
        node->kind == StatementKind::Launch) {
      const StmtPtr body = (*this)(node->children[0]);
      return is_empty(body) ? body : with_children(node, {body});
    }
    if (node->kind == StatementKind::Let &&
        (node->value->kind == ValueKind::Constant || node->value->kind == ValueKind::Variable)) {
      replaced_[node->id] = node->value;
      return block({});
    }
    if (node->kind == StatementKind::Store && keeps_its_value(*node)) {
      return block({});
    }
    if (node->kind == StatementKind::CheckIndex && stays_inside(*node)) {
      return block({});
    }
    return node;
  }

private:
  /// A[i] = A[i]: a computation in place that leaves elements as they are.
  static bool keeps_its_value(const LoopStatement &node) {
    return node.value->kind == ValueKind::Load && node.value->id == node.buffer &&
           std::equal(node.subscripts.begin(), node.subscripts.end(), node.value->operands.begin(),
                      node.value->operands.end(), same_value);
  }

  /// Does `value` stay above zero because of where the loops around end? Where j < (M + 15) // 16,
  /// M - 16 * j >= M - 16 * ((M + 15) // 16 - 1) >= M - (M + 15) + 16 = 1.
  bool is_positive(const Linear &value, int depth = 4) const {
    const Interval interval = ranges_.of(value);
    if (interval.lower && *interval.lower > 0) {
      return true;
    }
    if (depth == 0) {
      return false;
    }
    for (size_t t = 0; t < value.terms.size(); ++t) {
      const auto &[atom, coefficient] = value.terms[t];
      if (coefficient >= 0) {
        continue;
      }
      Linear rest = value;
      rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(t));
      if (atom->kind == ValueKind::Variable && last_.contains(atom->id)) {
        for (const Linear &last : last_.at(atom->id)) {
          const auto least = combine(rest, last, coefficient);
          if (least && is_positive(*least, depth - 1)) {
            return true;
          }
        }
      }
      if (atom->kind == ValueKind::Binary && atom->op == Op::FloorDiv) {
        const auto divisor = as_integer(atom->operands[1]);
        const auto dividend = linear_of(atom->operands[0]);
        if (divisor && *divisor > 0 && coefficient % *divisor == 0 && dividend) {
          const auto least = combine(rest, *dividend, coefficient / *divisor);
          if (least && is_positive(*least, depth - 1)) {
            return true;
          }
        }
      }
    }
    return false;
  }

  /// Can a check that was asked for not fail?
  bool stays_inside(const LoopStatement &node) const {
    if (node.subscripts.empty() || !is_index(node.value) || !is_index(node.upper)) {
      return false;
    }
    const auto value = linear_of(node.value);
    const auto upper = linear_of(node.upper);
    const auto distance = value && upper ? combine(*upper, *value, -1) : std::nullopt;
    const Interval interval = value ? ranges_.of(*value) : Interval{};
    return interval.lower && *interval.lower >= 0 && distance && is_positive(*distance);
  }

  /// Is `condition` a < b, and so by the loops around?
  bool holds(const ValuePtr &condition) const {
    if (condition->kind != ValueKind::Binary || condition->op != Op::Lt ||
        !is_index(condition->operands[0]) || !is_index(condition->operands[1])) {
      return false;
    }
    std::vector<ValuePtr> small;
    std::vector<ValuePtr> large;
    operands_of(Op::Max, condition->operands[0], small);
    operands_of(Op::Min, condition->operands[1], large);
    return std::all_of(small.begin(), small.end(), [&](const ValuePtr &a) {
      return std::all_of(large.begin(), large.end(), [&](const ValuePtr &b) {
        const auto left = linear_of(a);
        const auto right = linear_of(b);
        const auto distance = left && right ? combine(*right, *left, -1) : std::nullopt;
        return distance && is_positive(*distance);
      });
    });
  }

  /// A bound that can be one number only is that number: of a loop around it that has at most one
  /// iteration, the variable is known.
  StmtPtr with_known_bounds(const StmtPtr &node) const {
    const auto known = [&](const ValuePtr &bound) {
      const Interval interval = ranges_.of(bound);
      return interval.lower && interval.lower == interval.upper ? integer(*interval.lower) : bound;
    };
    const ValuePtr lower = known(node->lower);
    const ValuePtr upper = known(node->upper);
    if (lower == node->lower && upper == node->upper) {
      return node;
    }
    auto loop = std::make_shared<LoopStatement>(*node);
    loop->lower = lower;
    loop->upper = upper;
    return loop;
  }

  StmtPtr simplify_if(const StmtPtr &node) {
    if (holds(node->value)) {
      return (*this)(node->children[0]);
    }
    if (const auto known = as_boolean(node->value)) {
      return *known                      ? (*this)(node->children[0])
             : node->children.size() > 1 ? (*this)(node->children[1])
                                         : block({});
    }
    const Ranges before = ranges_;
    ranges_.assume(node->value);
    const StmtPtr then = (*this)(node->children[0]);
    ranges_ = before;
    return if_then(node->value, then,
                   node->children.size() > 1 ? (*this)(node->children[1]) : nullptr);
  }

  StmtPtr simplify_loop(const StmtPtr &node, Simplifier &simplify) {
    const ValuePtr extent = simplify(sub(node->upper, node->lower));
    const Interval count = ranges_.of(extent);
    if ((count.upper && *count.upper <= 0) || simplify.is_empty_range(node->lower, node->upper)) {
      return block({});
    }
    // Which thread has the only iteration is still to be said.
    if (count.lower == 1 && count.upper == 1 && !is_gpu(node->loop)) {
      replaced_[node->id] = node->lower;
      return (*this)(node->children[0]);
    }
    Interval interval{ranges_.of(node->lower).lower, ranges_.of(node->upper).upper};
    if (interval.upper) {
      interval.upper = *interval.upper - 1;
    }
    ranges_.variables[node->id] = interval;
    std::vector<ValuePtr> ends;
    operands_of(Op::Min, node->upper, ends);
    for (const ValuePtr &end : ends) {
      if (auto last = is_index(end) ? linear_of(end) : std::nullopt) {
        last->constant -= 1;
        last_[node->id].push_back(std::move(*last));
      }
    }
    StmtPtr body = (*this)(node->children[0]);
    if (is_empty(body)) {
      return body;
    }
    return with_children(node, {body});
  }

  Ranges ranges_;
  std::unordered_map<std::int64_t, std::vector<Linear>> last_; ///< of variables: at most all these
  std::unordered_map<std::int64_t, ValuePtr> replaced_;
};

} // namespace

StmtPtr simplify_indices(const StmtPtr &body, const Ranges &known) {
  return SimplifyStatements(known)(body);
}

} // namespace tilewright
