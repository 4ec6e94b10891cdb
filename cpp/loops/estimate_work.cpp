#include "loops/estimate_work.h"

#include "loops/linear.h"
#include "loops/summing_loops.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace tilewright {

namespace {

constexpr std::int64_t longest_loop = std::int64_t{1} << 20;
constexpr std::int64_t max_work = std::int64_t{1} << 40;
/// Iterations of a loop whose bounds are data.
constexpr std::int64_t unknown_extent = 16;
constexpr std::int64_t register_bytes = 32;
/// Of a function of C, of which nothing is known.
constexpr std::int64_t cost_of_extern = 50;

std::int64_t cost_of(const Value &value) {
  const std::int64_t registers =
      std::max<std::int64_t>(1, value.type.lanes * value.type.scalar.bytes() / register_bytes);
  switch (value.kind) {
  case ValueKind::Load:
  case ValueKind::Cast:
  case ValueKind::Select:
    return registers;
  case ValueKind::Call:
    return (cast<Call>(value).op == Op::TruncatedDivide ? 8 : 20) * registers;
  case ValueKind::Extern:
    return cost_of_extern * value.type.lanes;
  case ValueKind::Unary:
  case ValueKind::Binary: {
    const Op op = is<Unary>(value) ? cast<Unary>(value).op : cast<Binary>(value).op;
    const bool slow = op == Op::TrueDiv || op == Op::Pow || op == Op::FloorDiv || op == Op::Mod;
    const bool index = value.type == ValueType{Int64, 1};
    return index ? 0 : (slow ? 8 : 1) * registers;
  }
  default:
    return 0;
  }
}

/// Of a statement itself, without those inside.
std::int64_t cost_of(const LoopStatement &statement) {
  std::int64_t cost = is<Store>(statement) ? 1 : 0;
  visit_values(statement, [&](const Value &value) { cost += cost_of(value); });
  return cost;
}

/// Index values of which at least one is below 0.
using BelowZero = std::vector<Linear>;

/// What a condition says that holds, or fails. Nothing where it says something else, too.
std::vector<BelowZero> facts_of(const ValuePtr &condition, bool holds) {
  std::vector<ValuePtr> parts;
  operands_of(Op::And, condition, parts);
  std::vector<BelowZero> facts;
  for (const ValuePtr &part : parts) {
    const auto *test = as<Binary>(part);
    const bool is_order = test != nullptr && (test->op == Op::Lt || test->op == Op::Le ||
                                              test->op == Op::Gt || test->op == Op::Ge);
    const bool falls = is_order && (test->op == Op::Lt || test->op == Op::Le);
    const auto apart = !is_order          ? std::nullopt
                       : (falls == holds) ? difference(test->left(), test->right())
                                          : difference(test->right(), test->left());
    if (!apart) {
      if (holds) {
        continue;
      }
      return {}; // this part alone may be what fails
    }
    Linear below = *apart;
    const bool is_strict = (test->op == Op::Lt || test->op == Op::Gt) == holds;
    below.constant -= is_strict ? 0 : 1;
    if (holds || facts.empty()) {
      facts.push_back({below});
    } else {
      facts.front().push_back(below);
    }
  }
  return facts;
}

class Estimator {
public:
  /// The `around` outermost loops are taken to have one iteration, or none.
  explicit Estimator(int around = 0) : around_(around) {}

  ValuePtr of(const LoopStatement &statement) {
    switch (statement.kind) {
    case StatementKind::For:
      return of_loop(cast<For>(statement));
    case StatementKind::While:
      return scaled(integer(unknown_extent), of(*statement.children[0]));
    case StatementKind::If:
      return of_choice(cast<If>(statement));
    case StatementKind::Let: {
      const auto &let = cast<Let>(statement);
      const auto *select = as<Select>(let.value);
      middle_[let.id] = outside(select == nullptr ? let.value : select->then());
      return integer(cost_of(statement));
    }
    default: {
      ValuePtr sum = integer(cost_of(statement));
      for (const StmtPtr &child : statement.children) {
        sum = add(sum, of(*child));
      }
      return sum;
    }
    }
  }

private:
  ValuePtr of_choice(const If &statement) {
    const ValuePtr then = of_branch(*statement.then(), statement.condition, true);
    const ValuePtr otherwise = statement.has_otherwise()
                                   ? of_branch(*statement.otherwise(), statement.condition, false)
                                   : integer(0);
    return is_known_outside(statement.condition)
               ? select_value(statement.condition, then, otherwise)
               : maximum(then, otherwise);
  }

  /// Whether a condition compares nothing but indices that are the same for the whole statement.
  bool is_known_outside(const ValuePtr &condition) const {
    bool known = true;
    visit_value(condition, [&](const Value &part) {
      const auto *own = as<Variable>(part);
      known = known && !is<Load>(part) && !is<Local>(part) && !is<Call>(part) &&
              !is<Extern>(part) && !(own != nullptr && middle_.contains(own->id)) &&
              part.type.lanes == 1;
    });
    return known;
  }

  ValuePtr of_branch(const LoopStatement &branch, const ValuePtr &condition, bool holds) {
    const size_t outside = facts_.size();
    for (BelowZero &fact : facts_of(condition, holds)) {
      facts_.push_back(std::move(fact));
    }
    ValuePtr work = of(branch);
    facts_.resize(outside);
    return work;
  }

  /// The most iterations that tests around a loop leave it: what lies at the border of a tile.
  std::int64_t most_left(const For &loop) const {
    std::int64_t most = longest_loop;
    const auto extent = difference(loop.upper, loop.lower);
    for (const BelowZero &fact : facts_) {
      std::int64_t of_fact = 0;
      for (const Linear &below : fact) {
        const auto more = extent ? combine(*extent, below, -1) : std::nullopt;
        of_fact =
            more && more->is_constant() ? std::max(of_fact, more->constant - 1) : longest_loop;
      }
      most = std::min(most, of_fact);
    }
    return most;
  }

  ValuePtr of_loop(const For &loop) {
    const ValuePtr lower = outside(loop.lower);
    const ValuePtr upper = outside(loop.upper);
    const bool is_around = around_ > 0;
    const std::int64_t longest = is_around ? 1 : most_left(loop);
    around_ -= is_around ? 1 : 0;
    ValuePtr extent = integer(std::min(unknown_extent, longest));
    middle_[loop.id] = nullptr;
    if (lower && upper) {
      extent = minimum(maximum(sub(upper, lower), integer(0)), integer(longest));
      middle_[loop.id] = floor_div(add(lower, upper), integer(2));
    }
    const ValuePtr inside = of(*loop.body());
    around_ += is_around ? 1 : 0;
    return scaled(extent, inside);
  }

  static ValuePtr scaled(const ValuePtr &factor, const ValuePtr &work) {
    return minimum(mul(factor, work), integer(max_work));
  }

  /// The value with the variables of loops inside at their middle; null where it is not an index.
  ValuePtr outside(const ValuePtr &value) const {
    if (!is_index(value)) {
      return nullptr;
    }
    bool known = true;
    ValueRewriter rewrite([&](const ValuePtr &part) -> ValuePtr {
      const auto *own = as<Variable>(part);
      const auto found = own == nullptr ? middle_.end() : middle_.find(own->id);
      if (found == middle_.end()) {
        return nullptr;
      }
      known = known && found->second != nullptr;
      return found->second ? found->second : part;
    });
    const ValuePtr result = rewrite(value);
    return known ? result : nullptr;
  }

  std::vector<BelowZero> facts_;                      ///< that hold where the statement stands
  int around_;                                        ///< still to come
  std::unordered_map<std::int64_t, ValuePtr> middle_; ///< of variables inside; null: not known
};

} // namespace

ValuePtr estimated_work(const LoopStatement &statement) { return work_within(statement, 0); }

ValuePtr work_within(const LoopStatement &statement, int around) {
  return Estimator(around).of(statement);
}

namespace {

/// The most that a distance of index values can be: of a constant, and of
/// floor((x + k) / c) - floor(x / c), beside a constant.
std::optional<std::int64_t> upper_bound_of(const Linear &distance) {
  if (distance.is_constant()) {
    return distance.constant;
  }
  const auto divisor = [&](size_t term) -> std::int64_t {
    const auto *quotient = as_binary(distance.terms[term].atom, Op::FloorDiv);
    return quotient == nullptr ? 0 : as_integer(quotient->right()).value_or(0);
  };
  if (distance.terms.size() != 2 || divisor(0) <= 0 || divisor(0) != divisor(1)) {
    return std::nullopt;
  }
  const size_t first = distance.terms[0].coefficient > 0 ? 0 : 1;
  const Linear::Term &above = distance.terms[first];
  const Linear::Term &below = distance.terms[1 - first];
  if (above.coefficient != 1 || below.coefficient != -1) {
    return std::nullopt;
  }
  const auto apart = difference(above.atom->operands[0], below.atom->operands[0]);
  if (!apart || !apart->is_constant()) {
    return std::nullopt;
  }
  const std::int64_t by = divisor(0);
  const std::int64_t rounded_up =
      apart->constant / by + (apart->constant % by > 0 ? 1 : 0); // towards zero otherwise
  std::int64_t most = 0;
  return __builtin_add_overflow(distance.constant, rounded_up, &most) ? std::nullopt
                                                                      : std::optional(most);
}

} // namespace

std::optional<std::int64_t> WorkBounds::max_iterations(const For &loop) {
  // Begin and end are the max and min of values of which two may lie a constant apart.
  std::vector<ValuePtr> uppers;
  std::vector<ValuePtr> lowers;
  operands_of(Op::Min, loop.upper, uppers);
  operands_of(Op::Max, loop.lower, lowers);
  std::optional<std::int64_t> most;
  for (const ValuePtr &upper : uppers) {
    for (const ValuePtr &lower : lowers) {
      const auto distance = difference(upper, lower);
      const auto bound = distance ? upper_bound_of(*distance) : std::nullopt;
      if (bound && (!most || *bound < *most)) {
        most = std::max<std::int64_t>(*bound, 0);
      }
    }
  }
  return most;
}

bool WorkBounds::walks_through_memory(const For &loop) {
  std::vector<std::int64_t> moving = {loop.id}; // the loop's variable and what is made of it
  const auto moves = [&](const ValuePtr &value) {
    return std::any_of(moving.begin(), moving.end(),
                       [&](std::int64_t variable) { return mentions(value, variable); });
  };
  bool found = false;
  const auto look = [&](const LoopStatement &statement) {
    if (const auto *let = as<Let>(statement); let != nullptr && moves(let->value)) {
      moving.push_back(let->id);
    }
    if (const auto *change = as<ElementChange>(statement)) {
      found = found || std::any_of(change->subscripts.begin(), change->subscripts.end(), moves);
    }
    visit_values(statement, [&](const Value &value) {
      found = found ||
              (is<Load>(value) && std::any_of(value.operands.begin(), value.operands.end(), moves));
    });
  };
  for (const StmtPtr &child : loop.children) {
    visit_statements(child, look);
  }
  return found;
}

std::optional<std::int64_t> WorkBounds::most(const LoopStatement &statement) {
  const bool is_loop = is<For>(statement) || is<While>(statement);
  if (!is_loop) {
    return bounded(statement);
  }
  const auto [place, is_new] = known_.try_emplace(&statement);
  if (is_new && is<For>(statement)) {
    const std::optional<std::int64_t> bound = bounded(statement);
    known_[&statement] = bound; // others may have come in between
    return bound;
  }
  return place->second;
}

std::optional<std::int64_t> WorkBounds::bounded(const LoopStatement &statement) {
  std::int64_t inside = 0;
  for (const StmtPtr &child : statement.children) {
    const std::optional<std::int64_t> part = most(*child);
    if (!part) {
      return std::nullopt;
    }
    inside = is<If>(statement) ? std::max(inside, *part) : inside + *part;
  }
  if (is<For>(statement)) {
    const std::optional<std::int64_t> iterations = max_iterations(cast<For>(statement));
    if (!iterations || __builtin_mul_overflow(*iterations, inside + 1, &inside)) {
      return std::nullopt;
    }
  }
  const std::int64_t bound = cost_of(statement) + std::min(inside, max_uncounted);
  return bound < max_uncounted ? std::optional(bound) : std::nullopt;
}

std::int64_t WorkBounds::beside_counting(const LoopStatement &statement) {
  const bool is_loop = is<For>(statement) || is<While>(statement);
  if (is_loop) {
    return most(statement).value_or(0);
  }
  std::int64_t inside = 0;
  for (const StmtPtr &child : statement.children) {
    const std::int64_t part = beside_counting(*child);
    inside = is<If>(statement) ? std::max(inside, part) : inside + part;
  }
  return cost_of(statement) + inside;
}

bool WorkBounds::surely_counts(const LoopStatement &statement) {
  switch (statement.kind) {
  case StatementKind::While:
    return true;
  case StatementKind::For:
    return !most(statement);
  case StatementKind::If:
    return statement.children.size() > 1 && surely_counts(*statement.children[0]) &&
           surely_counts(*statement.children[1]);
  default:
    return std::any_of(statement.children.begin(), statement.children.end(),
                       [&](const StmtPtr &child) { return surely_counts(*child); });
  }
}

} // namespace tilewright
