#include "loops/linear.h"

#include <algorithm>
#include <cmath>

namespace tilewright {

namespace {

constexpr std::int64_t largest = std::int64_t{1} << 40;

bool fits(std::int64_t value) { return value > -largest && value < largest; }

bool add_term(Linear &to, const ValuePtr &atom, std::int64_t coefficient) {
  for (auto term = to.terms.begin(); term != to.terms.end(); ++term) {
    if (same_value(term->atom, atom)) {
      term->coefficient += coefficient;
      if (term->coefficient == 0) {
        to.terms.erase(term);
        return true;
      }
      return fits(term->coefficient);
    }
  }
  if (coefficient != 0) {
    to.terms.push_back({atom, coefficient});
  }
  return fits(coefficient);
}

bool add_scaled(Linear &to, const Linear &from, std::int64_t factor) {
  const auto product = [&](std::int64_t value, std::int64_t &result) {
    return !__builtin_mul_overflow(value, factor, &result) && fits(result);
  };
  std::int64_t scaled = 0;
  for (const Linear::Term &term : from.terms) {
    if (!product(term.coefficient, scaled) || !add_term(to, term.atom, scaled)) {
      return false;
    }
  }
  if (!product(from.constant, scaled)) {
    return false;
  }
  to.constant += scaled;
  return fits(to.constant);
}

bool is_index_op(Op op) {
  return op == Op::Add || op == Op::Sub || op == Op::Mul || op == Op::FloorDiv || op == Op::Mod ||
         op == Op::Min || op == Op::Max;
}

std::optional<Linear> linear_of_binary(const Binary &value) {
  const auto a = linear_of(value.operands[0]);
  const auto b = linear_of(value.operands[1]);
  if (!a || !b) {
    return std::nullopt;
  }
  if (value.op == Op::Mul) {
    Linear product;
    if (a->is_constant() || b->is_constant()) {
      const bool fine = a->is_constant() ? add_scaled(product, *b, a->constant)
                                         : add_scaled(product, *a, b->constant);
      return fine ? std::optional(product) : std::nullopt;
    }
    return std::nullopt;
  }
  return combine(*a, *b, value.op == Op::Sub ? -1 : 1);
}

std::optional<std::int64_t> floor_quotient(std::optional<std::int64_t> a, std::int64_t b) {
  if (!a) {
    return std::nullopt;
  }
  return as_integer(floor_div(integer(*a), integer(b)));
}

/// What variables and parameters are at most, and index arithmetic that does not wrap around.
constexpr double largest_variable = 0x1p40;
constexpr double largest_index = 0x1p62;

double combined_magnitude(Op op, double a, double b) {
  return op == Op::Mul ? a * b : op == Op::Add || op == Op::Sub ? a + b : std::max(a, b);
}

double magnitude(const Value &value) {
  switch (value.kind) {
  case ValueKind::Constant: {
    const auto *number = std::get_if<std::int64_t>(&cast<Constant>(value).value);
    return number == nullptr ? HUGE_VAL : std::abs(static_cast<double>(*number));
  }
  case ValueKind::Variable:
  case ValueKind::Parameter:
  case ValueKind::GpuIndex:
    return largest_variable;
  case ValueKind::Ramp: {
    const auto &ramp = cast<Ramp>(value);
    const double step = std::abs(static_cast<double>(ramp.stride)) +
                        std::abs(static_cast<double>(ramp.inner_stride));
    return magnitude(*ramp.base()) + step * value.type.lanes;
  }
  case ValueKind::Broadcast:
  case ValueKind::Unary:
    return magnitude(*value.operands[0]);
  case ValueKind::Binary: {
    const auto &binary = cast<Binary>(value);
    const double a = magnitude(*binary.left());
    return combined_magnitude(binary.op, a, a < largest_index ? magnitude(*binary.right()) : 0);
  }
  default:
    return HUGE_VAL;
  }
}

bool is_index_tree(const ValuePtr &value) {
  if (!is_int64(value)) {
    return false;
  }
  switch (value->kind) {
  case ValueKind::Constant:
  case ValueKind::Variable:
  case ValueKind::Parameter:
    return true;
  case ValueKind::Binary:
    return is_index_op(cast<Binary>(value).op) && is_index_tree(value->operands[0]) &&
           is_index_tree(value->operands[1]);
  case ValueKind::Unary:
    return cast<Unary>(value).op == Op::Neg && is_index_tree(value->operands[0]);
  default:
    return false;
  }
}

Interval floor_interval(const Interval &of, std::int64_t divisor) {
  return {floor_quotient(of.lower, divisor), floor_quotient(of.upper, divisor)};
}

} // namespace

bool may_wrap(const Value &value) { return !(magnitude(value) < largest_index); }

bool may_wrap(Op op, const Value &a, const Value &b) {
  return !(combined_magnitude(op, magnitude(a), magnitude(b)) < largest_index);
}

bool is_index(const ValuePtr &value) { return is_index_tree(value) && !may_wrap(*value); }

namespace {

std::optional<Linear> difference_of(const ValuePtr &x, const ValuePtr &y) {
  const auto left = linear_of(x);
  const auto right = linear_of(y);
  return left && right ? combine(*left, *right, -1) : std::nullopt;
}

/// Appends what a condition says is zero: x - y of a conjunction's x == y.
void add_zeros(const ValuePtr &condition, std::vector<Linear> &zeros) {
  const auto *binary = as<Binary>(condition);
  if (binary != nullptr && binary->op == Op::And) {
    add_zeros(binary->left(), zeros);
    add_zeros(binary->right(), zeros);
  } else if (binary != nullptr && binary->op == Op::Eq && is_index(binary->left()) &&
             is_index(binary->right())) {
    if (auto zero = difference_of(binary->left(), binary->right())) {
      zeros.push_back(std::move(*zero));
    }
  }
}

bool is_zero(const Linear &form) { return form.is_constant() && form.constant == 0; }

bool same_element(const ValuePtr &a, const ValuePtr &b, const std::vector<Linear> &zeros) {
  const auto *first = as<Load>(a);
  const auto *second = as<Load>(b);
  if (first == nullptr || second == nullptr || first->buffer != second->buffer ||
      first->type != second->type) {
    return false;
  }
  return std::equal(first->operands.begin(), first->operands.end(), second->operands.begin(),
                    second->operands.end(), [&](const ValuePtr &x, const ValuePtr &y) {
                      if (same_value(x, y)) {
                        return true;
                      }
                      const auto difference = difference_of(x, y);
                      const auto is_moved = [&](const Linear &zero, std::int64_t factor) {
                        const auto rest = combine(*difference, zero, factor);
                        return rest && is_zero(*rest);
                      };
                      return difference &&
                             (is_zero(*difference) ||
                              std::any_of(zeros.begin(), zeros.end(), [&](const Linear &zero) {
                                return is_moved(zero, 1) || is_moved(zero, -1);
                              }));
                    });
}

} // namespace

bool same_element(const ValuePtr &a, const ValuePtr &b) {
  return same_value(a, b) || same_element(a, b, {});
}

bool same_element_if(const ValuePtr &condition, const ValuePtr &a, const ValuePtr &b) {
  if (same_value(a, b)) {
    return true;
  }
  if (!is<Load>(a) || !is<Load>(b)) {
    return false;
  }
  std::vector<Linear> zeros;
  add_zeros(condition, zeros);
  return same_element(a, b, zeros);
}

std::optional<Linear> combine(const Linear &a, const Linear &b, std::int64_t factor) {
  Linear result = a;
  return add_scaled(result, b, factor) ? std::optional(std::move(result)) : std::nullopt;
}

std::optional<Linear> linear_of(const ValuePtr &value) {
  if (const auto number = as_integer(value)) {
    return fits(*number) ? std::optional(Linear{{}, *number}) : std::nullopt;
  }
  if (const auto *binary = as<Binary>(value);
      binary != nullptr &&
      (binary->op == Op::Add || binary->op == Op::Sub || binary->op == Op::Mul)) {
    if (auto sum = linear_of_binary(*binary)) {
      return sum;
    }
    if (binary->op != Op::Mul) {
      return std::nullopt;
    }
  }
  if (const auto *unary = as<Unary>(value); unary != nullptr && unary->op == Op::Neg) {
    const auto a = linear_of(unary->operand());
    return a ? combine({}, *a, -1) : std::nullopt;
  }
  return Linear{{{value, 1}}, 0};
}

ValuePtr value_of(const Linear &linear) {
  ValuePtr sum;
  // Positive terms first, so that a sum reads a + b - c.
  for (const bool positive : {true, false}) {
    for (const Linear::Term &term : linear.terms) {
      if ((term.coefficient > 0) != positive) {
        continue;
      }
      if (!sum && positive) {
        sum = mul(integer(term.coefficient), term.atom);
      } else if (!sum) {
        sum = linear.constant > 0
                  ? sub(integer(linear.constant), mul(integer(-term.coefficient), term.atom))
                  : mul(integer(term.coefficient), term.atom);
      } else {
        const ValuePtr product = mul(integer(std::abs(term.coefficient)), term.atom);
        sum = positive ? add(sum, product) : sub(sum, product);
      }
    }
  }
  if (!sum) {
    return integer(linear.constant);
  }
  const bool used =
      linear.constant > 0 && std::all_of(linear.terms.begin(), linear.terms.end(),
                                         [](const auto &term) { return term.coefficient < 0; });
  if (linear.constant == 0 || used) {
    return sum;
  }
  return linear.constant > 0 ? add(sum, integer(linear.constant))
                             : sub(sum, integer(-linear.constant));
}

namespace {

/// What x // d - y // d lies between when x - y is a constant, for two such terms of `linear`;
/// removes them from it.
std::optional<Interval> take_quotient_pair(Linear &linear) {
  const auto divided = [](const Linear::Term &term) { return is_binary(term.atom, Op::FloorDiv); };
  for (size_t i = 0; i < linear.terms.size(); ++i) {
    for (size_t j = 0; j < linear.terms.size(); ++j) {
      const Linear::Term &plus = linear.terms[i];
      const Linear::Term &minus = linear.terms[j];
      if (plus.coefficient != 1 || minus.coefficient != -1 || !divided(plus) || !divided(minus)) {
        continue;
      }
      const auto divisor = as_integer(plus.atom->operands[1]);
      if (!divisor || *divisor <= 0 || as_integer(minus.atom->operands[1]) != divisor) {
        continue;
      }
      const auto x = linear_of(plus.atom->operands[0]);
      const auto y = linear_of(minus.atom->operands[0]);
      const auto shift = x && y ? combine(*x, *y, -1) : std::nullopt;
      if (!shift || !shift->is_constant()) {
        continue;
      }
      linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)));
      linear.terms.erase(linear.terms.begin() + static_cast<std::ptrdiff_t>(std::min(i, j)));
      return Interval{floor_quotient(shift->constant, *divisor),
                      floor_quotient(shift->constant + *divisor - 1, *divisor)};
    }
  }
  return std::nullopt;
}

} // namespace

Interval Ranges::of(const Linear &given) const {
  Linear linear = given;
  Interval sum{linear.constant, linear.constant};
  if (const auto pair = take_quotient_pair(linear)) {
    sum = {*sum.lower + *pair->lower, *sum.upper + *pair->upper};
  }
  const auto accumulate = [](std::optional<std::int64_t> &into, std::optional<std::int64_t> bound,
                             std::int64_t factor) {
    std::int64_t product = 0;
    std::int64_t result = 0;
    if (!into || !bound || __builtin_mul_overflow(*bound, factor, &product) ||
        __builtin_add_overflow(*into, product, &result)) {
      into = std::nullopt;
    } else {
      into = result;
    }
  };
  for (const Linear::Term &term : linear.terms) {
    const Interval atom = of(term.atom);
    const bool positive = term.coefficient > 0;
    accumulate(sum.lower, positive ? atom.lower : atom.upper, term.coefficient);
    accumulate(sum.upper, positive ? atom.upper : atom.lower, term.coefficient);
  }
  return sum;
}

Interval Ranges::of(const ValuePtr &value) const {
  if (const auto number = as_integer(value)) {
    return {*number, *number};
  }
  const auto lookup = [](const auto &known, std::int64_t number) {
    const auto found = known.find(number);
    return found == known.end() ? Interval{} : found->second;
  };
  if (const auto *variable = as<Variable>(value)) {
    return lookup(variables, variable->id);
  }
  if (const auto *parameter = as<Parameter>(value)) {
    return lookup(parameters, parameter->position);
  }
  if (!is_index(value)) {
    return {};
  }
  if (const auto *binary = as<Binary>(value)) {
    const auto divisor = as_integer(binary->right());
    if (binary->op == Op::FloorDiv && divisor && *divisor > 0) {
      return floor_interval(of(binary->left()), *divisor);
    }
    if (binary->op == Op::Mod && divisor && *divisor > 0) {
      return {0, *divisor - 1};
    }
    if (binary->op == Op::Min || binary->op == Op::Max) {
      const Interval a = of(binary->left());
      const Interval b = of(binary->right());
      const bool is_min = binary->op == Op::Min;
      const auto pick = [&](auto x, auto y) {
        return is_min ? std::min(*x, *y) : std::max(*x, *y);
      };
      Interval result;
      const auto either = [&](auto x, auto y) -> std::optional<std::int64_t> {
        return x && y ? std::optional(pick(x, y)) : x ? x : y;
      };
      const auto each = [&](auto x, auto y) -> std::optional<std::int64_t> {
        return x && y ? std::optional(pick(x, y)) : std::nullopt;
      };
      result.lower = is_min ? each(a.lower, b.lower) : either(a.lower, b.lower);
      result.upper = is_min ? either(a.upper, b.upper) : each(a.upper, b.upper);
      return result;
    }
  }
  const auto linear = linear_of(value);
  if (!linear || (linear->terms.size() == 1 && linear->terms[0].atom == value)) {
    return {};
  }
  return of(*linear);
}

void Ranges::assume(const ValuePtr &value) {
  const auto *condition = as<Binary>(value);
  if (condition == nullptr) {
    return;
  }
  if (condition->op == Op::And) {
    assume(condition->left());
    assume(condition->right());
    return;
  }
  if (!is_comparison(condition->op) || condition->op == Op::Ne || !is_index(condition->left()) ||
      !is_index(condition->right())) {
    return;
  }
  const auto a = linear_of(condition->left());
  const auto b = linear_of(condition->right());
  const auto difference = a && b ? combine(*a, *b, -1) : std::nullopt;
  if (!difference || difference->terms.size() != 1) {
    return;
  }
  const auto &[atom, coefficient] = difference->terms[0];
  if ((coefficient != 1 && coefficient != -1) || (!is<Variable>(atom) && !is<Parameter>(atom))) {
    return;
  }
  // coefficient * atom + constant OP 0
  const Op op = condition->op;
  const bool bounds_below = op == Op::Gt || op == Op::Ge || op == Op::Eq;
  const bool bounds_above = op == Op::Lt || op == Op::Le || op == Op::Eq;
  const std::int64_t slack = op == Op::Gt || op == Op::Lt ? 1 : 0;
  Interval &known = is<Variable>(atom) ? variables[cast<Variable>(atom).id]
                                       : parameters[cast<Parameter>(atom).position];
  const auto raise = [&](std::int64_t bound) {
    known.lower = known.lower ? std::max(*known.lower, bound) : bound;
  };
  const auto lower = [&](std::int64_t bound) {
    known.upper = known.upper ? std::min(*known.upper, bound) : bound;
  };
  if (bounds_below) {
    coefficient == 1 ? raise(slack - difference->constant) : lower(difference->constant - slack);
  }
  if (bounds_above) {
    coefficient == 1 ? lower(-difference->constant - slack) : raise(difference->constant + slack);
  }
}

} // namespace tilewright
