#include "passes/simplify_indices.h"

#include "loops/enclosing_loops.h"
#include "loops/traverse.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <set>

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
    if (const auto *variable = as<Variable>(value)) {
      const auto found = replaced_.find(variable->id);
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
    if (const auto *call = as<Call>(node)) {
      return simplify_truncation(*call, node);
    }
    const auto *binary = as<Binary>(node);
    const auto *unary = as<Unary>(node);
    if (binary == nullptr && (unary == nullptr || unary->op != Op::Neg)) {
      return node;
    }
    if (is_index(node)) {
      return simplify_index(node);
    }
    if (binary != nullptr && is_comparison(binary->op) && is_index(binary->left()) &&
        is_index(binary->right())) {
      return simplify_comparison(node);
    }
    return node;
  }

  /// Above zero, towards zero is downwards.
  ValuePtr simplify_truncation(const Call &call, const ValuePtr &node) {
    if ((call.op != Op::TruncatedDivide && call.op != Op::Fmod) || !is_index(call.operands[0])) {
      return node;
    }
    const ValuePtr &a = call.operands[0];
    const bool is_positive =
        as_integer(call.operands[1]).value_or(0) > 0 && ranges_.of(a).lower.value_or(-1) >= 0;
    if (!is_positive) {
      return node;
    }
    const Op op = call.op == Op::Fmod ? Op::Mod : Op::FloorDiv;
    return (*this)(binary_value(op, a, call.operands[1]));
  }

  ValuePtr simplify_index(const ValuePtr &node) {
    const Op op = is<Binary>(node) ? cast<Binary>(node).op : Op::Neg;
    if (op == Op::Min || op == Op::Max) {
      return simplify_extremum(node);
    }
    if (op == Op::FloorDiv || op == Op::Mod) {
      return simplify_division(node);
    }
    const auto linear = linear_of(node);
    if (!linear) {
      return node;
    }
    if (linear->terms.size() == 1 && linear->constant != 0 && linear->terms[0].coefficient == 1) {
      // min(a, b) + c = min(a + c, b + c)
      const auto *atom = as<Binary>(linear->terms[0].atom);
      if (atom != nullptr && (atom->op == Op::Min || atom->op == Op::Max)) {
        const ValuePtr shift = integer(linear->constant);
        return simplify_extremum(binary_value(atom->op, (*this)(add(atom->left(), shift)),
                                              (*this)(add(atom->right(), shift))));
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
    const auto *extremum = as<Binary>(node);
    if (extremum == nullptr || (extremum->op != Op::Min && extremum->op != Op::Max)) {
      return node;
    }
    const Op op = extremum->op;
    std::vector<ValuePtr> all;
    operands_of(op, node, all);
    std::vector<ValuePtr> kept;
    for (const ValuePtr &candidate : all) {
      bool needed = true;
      for (auto other = kept.begin(); other != kept.end();) {
        const int sign = order(candidate, *other) * (op == Op::Min ? 1 : -1);
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
        [&](const ValuePtr &a, const ValuePtr &b) { return binary_value(op, a, b); });
  }

  /// (max(b, 2 * a + b) - b) // 2 = max(0, a): of a sum with one extremum, if nothing is left over
  /// of either operand. Else null.
  ValuePtr extremum_of_quotients(const Linear &dividend, std::int64_t divisor) {
    const auto divides = [&](const Linear::Term &term) { return term.coefficient % divisor == 0; };
    Linear outside; // multiples of the divisor
    Linear rest;
    rest.constant = dividend.constant;
    const Linear::Term *atom = nullptr;
    for (const Linear::Term &term : dividend.terms) {
      const bool is_extremum = is_binary(term.atom, Op::Max) || is_binary(term.atom, Op::Min);
      if (divides(term)) {
        outside.terms.push_back({term.atom, term.coefficient / divisor});
      } else if (atom == nullptr && is_extremum && std::abs(term.coefficient) == 1) {
        atom = &term;
      } else {
        rest.terms.push_back(term);
      }
    }
    if (atom == nullptr) {
      return nullptr;
    }
    const auto &extremum = cast<Binary>(atom->atom);
    std::vector<ValuePtr> quotients;
    for (const ValuePtr &operand : extremum.operands) {
      const auto linear = linear_of(operand);
      const auto sum = linear ? combine(rest, *linear, atom->coefficient) : std::nullopt;
      if (!sum || !std::all_of(sum->terms.begin(), sum->terms.end(), divides)) {
        return nullptr;
      }
      quotients.push_back((*this)(floor_div(value_of(*sum), integer(divisor))));
    }
    const bool stays = atom->coefficient > 0;
    const Op op = stays == (extremum.op == Op::Max) ? Op::Max : Op::Min;
    return add_linear(outside, simplify_extremum(binary_value(op, quotients[0], quotients[1])));
  }

  ValuePtr simplify_division(const ValuePtr &node) {
    const auto &division = cast<Binary>(node);
    const auto divisor = as_integer(division.right());
    const auto dividend = linear_of(division.left());
    if (!divisor || *divisor <= 0 || !dividend) {
      return node;
    }
    const bool is_quotient = division.op == Op::FloorDiv;
    if (const ValuePtr apart = is_quotient ? extremum_of_quotients(*dividend, *divisor) : nullptr) {
      return apart;
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
        if (division.op == Op::FloorDiv) {
          quotient.constant += *low;
          return value_of(quotient);
        }
        rest.constant -= *low * *divisor;
        return value_of(rest);
      }
    }
    if (division.op == Op::Mod) {
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
      if (const auto *inner = as_binary(rest.terms[0].atom, Op::FloorDiv)) {
        const auto second = as_integer(inner->right());
        if (second && *second > 0 && *second < (std::int64_t{1} << 30) &&
            divisor < (std::int64_t{1} << 30)) {
          return floor_div(inner->left(), integer(divisor * *second));
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
    const auto &comparison = cast<Binary>(node);
    const auto left = linear_of(comparison.left());
    const auto right = linear_of(comparison.right());
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
    switch (comparison.op) {
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
  explicit SimplifyStatements(Ranges ranges) : around_(std::move(ranges)) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (is<Block>(statement)) {
      return simplify_block(*statement);
    }
    Simplifier simplify(around_.ranges(), replaced_);
    StmtPtr node = map_values(statement, std::ref(simplify));
    if (const auto *loop = as<For>(node)) {
      return simplify_loop(with_known_bounds(node, *loop), simplify);
    }
    if (const auto *test = as<If>(node)) {
      return simplify_if(*test);
    }
    if (is<While>(node)) {
      return with_children(node, {(*this)(node->children[0])});
    }
    if (is<Allocate>(node) || is<Timed>(node) || is<Launch>(node)) {
      const StmtPtr body = (*this)(node->children[0]);
      return is_empty(body) ? body : with_children(node, {body});
    }
    if (const auto *let = as<Let>(node); let != nullptr && is_another_name(let->value)) {
      replaced_[let->id] = let->value;
      return block({});
    }
    const auto *store = as<Store>(node);
    const auto *check = as<CheckIndex>(node);
    const bool is_idle =
        (store != nullptr && keeps_its_value(*store)) || (check != nullptr && stays_inside(*check));
    return is_idle ? block({}) : node;
  }

private:
  /// Is it a number, or a variable, shifted perhaps or counted backwards?
  static bool is_another_name(const ValuePtr &value) {
    if (is<Constant>(value) || is<Variable>(value)) {
      return true;
    }
    const auto linear = is_index(value) ? linear_of(value) : std::nullopt;
    return linear && linear->terms.size() == 1 && is<Variable>(linear->terms.front().atom) &&
           std::abs(linear->terms.front().coefficient) == 1;
  }

  /// What comes after a check runs where it holds.
  StmtPtr simplify_block(const LoopStatement &given) {
    std::vector<StmtPtr> children;
    std::vector<EnclosingLoops::Known> before;
    for (const StmtPtr &child : given.children) {
      children.push_back((*this)(child));
      const auto *check = as<CheckIndex>(children.back());
      if (check != nullptr && check->mask == nullptr && is_index(check->value) &&
          is_index(check->upper)) {
        Simplifier simplify(around_.ranges(), replaced_);
        before.push_back(
            around_.assume(simplify(both(binary_value(Op::Le, integer(0), check->value),
                                         binary_value(Op::Lt, check->value, check->upper)))));
      }
    }
    for (; !before.empty(); before.pop_back()) {
      around_.forget(std::move(before.back()));
    }
    return block(std::move(children));
  }

  /// A[i] = A[i]: a computation in place that leaves elements as they are.
  static bool keeps_its_value(const Store &store) {
    const auto *load = as_load_of(store.value, store.buffer);
    return load != nullptr &&
           std::equal(store.subscripts.begin(), store.subscripts.end(), load->subscripts().begin(),
                      load->subscripts().end(), same_value);
  }

  /// Can a check that was asked for not fail?
  bool stays_inside(const CheckIndex &check) const {
    if (check.reported.empty() || !is_index(check.value) || !is_index(check.upper)) {
      return false;
    }
    const auto value = linear_of(check.value);
    const auto upper = linear_of(check.upper);
    const auto distance = value && upper ? combine(*upper, *value, -1) : std::nullopt;
    const Interval interval = value ? around_.ranges().of(*value) : Interval{};
    return interval.lower && *interval.lower >= 0 && distance && around_.is_positive(*distance);
  }

  /// A bound that can be one number only is that number: of a loop around it that has at most one
  /// iteration, the variable is known.
  StmtPtr with_known_bounds(const StmtPtr &node, const For &loop) const {
    const auto known = [&](const ValuePtr &bound) {
      const Interval interval = around_.ranges().of(bound);
      return interval.lower && interval.lower == interval.upper ? integer(*interval.lower) : bound;
    };
    const ValuePtr lower = known(loop.lower);
    const ValuePtr upper = known(loop.upper);
    return lower == loop.lower && upper == loop.upper ? node
                                                      : for_loop(loop, lower, upper, loop.body());
  }

  /// The condition without the parts that hold here.
  ValuePtr open_part(const ValuePtr &condition) const {
    if (condition->type.lanes > 1) {
      return condition;
    }
    std::vector<ValuePtr> parts;
    operands_of(Op::And, condition, parts);
    ValuePtr open = boolean(true);
    for (const ValuePtr &part : parts) {
      open = around_.holds(part) ? open : both(open, part);
    }
    return open;
  }

  StmtPtr simplify_if(const If &test) {
    const ValuePtr condition = open_part(test.condition);
    if (const auto known = as_boolean(condition)) {
      return *known                 ? (*this)(test.then())
             : test.has_otherwise() ? (*this)(test.otherwise())
                                    : block({});
    }
    EnclosingLoops::Known before = around_.assume(condition);
    const StmtPtr then = (*this)(test.then());
    around_.forget(std::move(before));
    return if_then(condition, then, test.has_otherwise() ? (*this)(test.otherwise()) : nullptr);
  }

  StmtPtr simplify_loop(const StmtPtr &node, Simplifier &simplify) {
    const auto &loop = cast<For>(node);
    const ValuePtr extent = simplify(sub(loop.upper, loop.lower));
    const Interval count = around_.ranges().of(extent);
    if ((count.upper && *count.upper <= 0) || simplify.is_empty_range(loop.lower, loop.upper)) {
      return block({});
    }
    // Which thread has the only iteration is still to be said.
    if (count.lower == 1 && count.upper == 1 && !is_gpu(loop.loop)) {
      replaced_[loop.id] = loop.lower;
      return (*this)(loop.body());
    }
    around_.enter(loop);
    StmtPtr body = (*this)(loop.body());
    around_.leave(loop);
    if (is_empty(body)) {
      return body;
    }
    return with_children(node, {body});
  }

  EnclosingLoops around_;
  std::unordered_map<std::int64_t, ValuePtr> replaced_;
};

/// Leaves out locals that are declared and never named again: what read them was decided not to
/// happen, and the elements that they read need not be there.
class WithoutUnread {
public:
  StmtPtr operator()(const StmtPtr &body) {
    StmtPtr result = body;
    for (bool changed = true; changed;) {
      named_.clear();
      visit_statements(result, [&](const LoopStatement &statement) {
        if (const auto *assigned = as<AssignLocal>(statement)) {
          named_.insert(assigned->id);
        }
        visit_values(statement, [&](const Value &value) {
          if (const auto *read = as<Local>(value)) {
            named_.insert(read->id);
          }
        });
      });
      changed = false;
      result = without(result, changed);
    }
    return result;
  }

private:
  StmtPtr without(const StmtPtr &statement, bool &changed) {
    const auto *declared = as<DeclareLocal>(statement);
    if (declared != nullptr && !named_.contains(declared->id) && !calls(declared->value)) {
      changed = true;
      return block({});
    }
    return map_children(statement, [&](const StmtPtr &child) { return without(child, changed); });
  }

  static bool calls(const ValuePtr &root) {
    bool found = false;
    visit_value(root, [&](const Value &value) { found = found || is<Extern>(value); });
    return found;
  }

  std::set<std::int64_t> named_;
};

} // namespace

StmtPtr simplify_indices(const StmtPtr &body, const Ranges &known) {
  return WithoutUnread()(SimplifyStatements(known)(body));
}

} // namespace tilewright
