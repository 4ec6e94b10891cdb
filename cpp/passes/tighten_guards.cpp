#include "passes/tighten_guards.h"

#include "loops/summing_loops.h"
#include "loops/traverse.h"

#include <algorithm>
#include <set>

namespace tilewright {

namespace {

/// Loaded 64-bit values are brought into this range before index arithmetic, which must not wrap;
/// no loop comes near its ends.
constexpr std::int64_t far_away = std::int64_t{1} << 56;

/// The parts of a < or <= comparison whose sides are max(..) and min(..); else the comparison.
std::vector<ValuePtr> parts_of(const ValuePtr &test) {
  const auto *binary = as<Binary>(test);
  const bool less = binary != nullptr && (binary->op == Op::Lt || binary->op == Op::Le);
  const bool more = binary != nullptr && (binary->op == Op::Gt || binary->op == Op::Ge);
  if ((!less && !more) || !is_int64(binary->left())) {
    return {test};
  }
  std::vector<ValuePtr> small;
  std::vector<ValuePtr> large;
  operands_of(Op::Max, less ? binary->left() : binary->right(), small);
  operands_of(Op::Min, less ? binary->right() : binary->left(), large);
  const Op op = less ? binary->op : mirrored(binary->op);
  std::vector<ValuePtr> parts;
  for (const ValuePtr &a : small) {
    for (const ValuePtr &b : large) {
      const ValuePtr part = binary_value(op, a, b);
      if (as_boolean(part) != true) {
        parts.push_back(part);
      }
    }
  }
  return parts;
}

std::vector<ValuePtr> conjuncts_of(const ValuePtr &condition) {
  std::vector<ValuePtr> all;
  operands_of(Op::And, condition, all);
  std::vector<ValuePtr> parts;
  for (const ValuePtr &one : all) {
    for (const ValuePtr &part : parts_of(one)) {
      parts.push_back(part);
    }
  }
  return parts;
}

/// Statements, then a test for what follows. A loop gives tests too: its body runs only where its
/// lower bound is below its upper one.
struct Level {
  std::vector<StmtPtr> before;
  std::vector<ValuePtr> conjuncts;
  bool is_loop = false;
};

/// coefficient * variable + rest `op` other; coefficient > 0.
struct Comparison {
  std::int64_t coefficient = 1;
  Linear rest;
  Op op = Op::Lt;
  ValuePtr other;
  bool negated = false; ///< other stands for its negative
};

/// One loop while it is tightened.
class GuardedLoop {
public:
  GuardedLoop(const For &loop, Numbers &numbers, std::set<std::int64_t> &data)
      : loop_(loop), numbers_(numbers), data_(data), lower_(loop.lower), upper_(loop.upper) {
    inside_.insert(loop.id);
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      if (const std::int64_t *variable = defined_variable(inner)) {
        inside_.insert(*variable);
      } else if (const auto *declaration = as<DeclareLocal>(inner)) {
        locals_.insert(declaration->id);
      } else if (const auto *assignment = as<AssignLocal>(inner)) {
        locals_.insert(assignment->id);
        assigned_.insert(assignment->id);
      } else if (const auto *change = as<ElementChange>(inner)) {
        stored_.insert(change->buffer);
      }
    });
  }

  /// Null when no data bounds the loop.
  StmtPtr tighten() {
    peel();
    size_t reached = 0;
    while (reached < levels_.size() && enter(levels_[reached])) {
      ++reached;
    }
    return by_data_ ? rebuild() : nullptr;
  }

private:
  /// Statements taken out of the loop at one level, when that level is reached at all, and tests
  /// that are the same in all iterations.
  struct Layer {
    ValuePtr runs;
    std::vector<StmtPtr> hoisted;
    std::vector<ValuePtr> guards;
  };

  /// Splits the body into levels, as long as there is nothing in it but the next test.
  void peel() {
    core_ = loop_.body();
    while (true) {
      const std::vector<StmtPtr> single{core_};
      const std::vector<StmtPtr> &children = is<Block>(core_) ? core_->children : single;
      if (children.empty()) {
        return;
      }
      const StmtPtr &last = children.back();
      const auto *loop = as<For>(last);
      const auto *test = as<If>(last);
      const bool plain = std::all_of(children.begin(), children.end() - 1, [](const StmtPtr &s) {
        return is<Let>(s) || is<DeclareLocal>(s) || is<CheckIndex>(s);
      });
      if (!plain || (loop == nullptr && (test == nullptr || test->has_otherwise()))) {
        return;
      }
      Level level;
      level.before.assign(children.begin(), children.end() - 1);
      level.is_loop = loop != nullptr;
      level.conjuncts = loop != nullptr ? parts_of(binary_value(Op::Lt, loop->lower, loop->upper))
                                        : conjuncts_of(test->condition);
      const StmtPtr inner = loop != nullptr ? last : test->then();
      levels_.push_back(std::move(level));
      core_ = inner;
      if (levels_.back().is_loop) {
        return;
      }
    }
  }

  bool is_invariant(const ValuePtr &root) const {
    bool invariant = true;
    visit_value(root, [&](const Value &value) {
      if (const auto *variable = as<Variable>(value)) {
        invariant = invariant && !inside_.contains(variable->id);
      } else if (const auto *local = as<Local>(value)) {
        invariant = invariant && !locals_.contains(local->id);
      } else if (const auto *load = as<Load>(value)) {
        invariant = invariant && !stored_.contains(load->buffer);
      }
    });
    return invariant;
  }

  bool is_data(const ValuePtr &root) const {
    bool found = false;
    visit_value(root, [&](const Value &value) {
      const auto *variable = as<Variable>(value);
      found = found || is<Load>(value) || is<Local>(value) ||
              (variable != nullptr && data_.contains(variable->id));
    });
    return found;
  }

  /// A check that reports the first iteration where it is the same in all of them.
  StmtPtr reported_first(const StmtPtr &statement) const {
    const auto &check = cast<CheckIndex>(statement);
    if (check.reported.empty() || !is_invariant(check.value)) {
      return statement;
    }
    ValueRewriter rewrite([&](const ValuePtr &value) -> ValuePtr {
      return is_variable(value, loop_.id) ? lower_ : nullptr;
    });
    auto first = copy_of<CheckIndex>(check);
    for (ValuePtr &value : first->reported) {
      value = rewrite(value);
    }
    return first;
  }

  /// May a statement before the test of a level run once, outside of the loop?
  bool may_leave(const LoopStatement &statement) const {
    bool invariant = true;
    each_value(statement,
               [&](const ValuePtr &value) { invariant = invariant && is_invariant(value); });
    const auto *local = as<DeclareLocal>(statement);
    return invariant && (local == nullptr || !assigned_.contains(local->id));
  }

  /// Takes what it can of a level out of the loop; false where deeper levels must stay as they are.
  bool enter(Level &level) {
    Layer layer;
    layer.runs = binary_value(Op::Lt, lower_, upper_);
    std::vector<StmtPtr> kept;
    for (StmtPtr statement : level.before) {
      const bool is_check = is<CheckIndex>(statement);
      if (is_check) {
        statement = reported_first(statement);
      }
      const bool hoisted = may_leave(*statement);
      if (!hoisted && is_check) {
        return false; // each iteration may fail: none can be left out
      }
      if (hoisted && !is_check) {
        const auto &definition = cast<Definition>(statement);
        const bool is_let = is<Let>(statement);
        (is_let ? inside_ : locals_).erase(definition.id);
        if (is_let && is_data(definition.value)) {
          data_.insert(definition.id);
        }
      }
      (hoisted ? layer.hoisted : kept).push_back(statement);
    }
    level.before = std::move(kept);
    std::vector<ValuePtr> residual;
    for (const ValuePtr &conjunct : level.conjuncts) {
      if (is_index_test(conjunct) && is_invariant(conjunct)) {
        layer.guards.push_back(conjunct);
      } else if (!absorb(conjunct, layer)) {
        residual.push_back(conjunct);
      }
    }
    level.conjuncts = std::move(residual);
    layers_.push_back(std::move(layer));
    return !level.is_loop && !only_ && level.conjuncts.empty();
  }

  static bool is_index_test(const ValuePtr &test) {
    const auto *binary = as<Binary>(test);
    return binary != nullptr && is_comparison(binary->op) && is_index(binary->left()) &&
           is_index(binary->right());
  }

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
    by_data_ = by_data_ || is_data(test);
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

  StmtPtr rebuild() const {
    StmtPtr body = core_;
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      ValuePtr condition = boolean(true);
      if (!level->is_loop) {
        for (const ValuePtr &conjunct : level->conjuncts) {
          condition = both(condition, conjunct);
        }
      }
      std::vector<StmtPtr> statements = level->before;
      statements.push_back(if_then(condition, body));
      body = block(std::move(statements));
    }
    StmtPtr result;
    if (only_) {
      const ValuePtr counter = variable(loop_.id, loop_.name);
      const ValuePtr runs =
          both(binary_value(Op::Le, lower_, counter), binary_value(Op::Lt, counter, upper_));
      result = block({let(loop_.id, loop_.name, only_), if_then(runs, body)});
    } else {
      result = for_loop(loop_, lower_, upper_, body);
    }
    for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
      for (const ValuePtr &guard : layer->guards) {
        result = if_then(guard, result);
      }
      if (layer->hoisted.empty()) {
        continue;
      }
      std::vector<StmtPtr> statements = layer->hoisted;
      statements.push_back(result);
      result = block(std::move(statements));
      // What was read in the loop's first iteration is read only where there is one.
      result = if_then(layer->runs, result);
    }
    return result;
  }

  const For &loop_;
  Numbers &numbers_;
  std::set<std::int64_t> &data_; ///< variables that hold data
  ValuePtr lower_;
  ValuePtr upper_;
  ValuePtr only_; ///< the one value with which the body runs, where a test is an equality
  StmtPtr core_;
  std::vector<Level> levels_;
  std::vector<Layer> layers_;
  std::set<std::int64_t> inside_; ///< variables that differ between iterations
  std::set<std::int64_t> locals_;
  std::set<std::int64_t> assigned_;
  std::set<std::int64_t> stored_;
  bool by_data_ = false; ///< is one of the new bounds data?
};

class Tightening {
public:
  explicit Tightening(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (statement->children.empty()) {
      return statement;
    }
    std::vector<StmtPtr> children;
    bool changed = false;
    for (const StmtPtr &child : statement->children) {
      children.push_back((*this)(child));
      changed = changed || children.back() != child;
    }
    StmtPtr node = changed ? with_children(statement, std::move(children)) : statement;
    const auto *loop = as<For>(node);
    if (loop == nullptr || loop->parallel.joined) {
      return node;
    }
    StmtPtr tight = GuardedLoop(*loop, numbers_, data_).tighten();
    return tight ? tight : node;
  }

private:
  Numbers numbers_;
  std::set<std::int64_t> data_;
};

} // namespace

StmtPtr tighten_guards(const StmtPtr &body) { return Tightening(body)(body); }

} // namespace tilewright
