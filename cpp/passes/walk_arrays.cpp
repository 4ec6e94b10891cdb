#include "passes/walk_arrays.h"

#include "loops/linear.h"
#include "loops/summing_loops.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"
#include "passes/search_loop.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace tilewright {

namespace {

/// Statements of a body that stands there twice.
constexpr int most_statements = 64;

/// A local that each turn changes by the same amount.
struct Step {
  LocalPtr local;
  std::int64_t by = 0;
  std::shared_ptr<const Variable> first; ///< what it is before the loop
};

/// A whole number of any type.
std::optional<std::int64_t> number(const ValuePtr &value) {
  const auto *constant = as<Constant>(value);
  const auto *whole = constant == nullptr ? nullptr : std::get_if<std::int64_t>(&constant->value);
  return whole == nullptr ? std::nullopt : std::optional(*whole);
}

std::optional<Step> step_of(const LoopOutcome &set) {
  const auto *sum = as<Binary>(set.value);
  const ScalarType type = set.local->type.scalar;
  if (sum == nullptr || (sum->op != Op::Add && sum->op != Op::Sub) || set.local->type.lanes != 1 ||
      !type.is_integer() || !same_value(sum->left(), set.local)) {
    return std::nullopt;
  }
  const auto by = number(sum->right());
  constexpr std::int64_t most = 1 << 20;
  if (!by || *by == 0 || *by > most || *by < -most) {
    return std::nullopt;
  }
  return Step{set.local, sum->op == Op::Add ? *by : -*by, nullptr};
}

class Walk {
public:
  Walk(const SearchLoop &search, Numbers &numbers)
      : search_(search), numbers_(numbers),
        begin_(variable(numbers.next(), search.next->name + "_at_first")) {}

  /// What runs before the loop; null where nothing is known of the subscripts of all turns.
  StmtPtr ahead() {
    PassingTurn turn(search_);
    if (!turn.run()) {
      return nullptr;
    }
    for (const LoopOutcome &set : turn.set()) {
      if (auto step = set.value ? step_of(set) : std::nullopt; step && !is_inner(step->local->id)) {
        step->first = variable(numbers_.next(), step->local->name + "_at_first");
        steps_.push_back(*step);
      }
    }
    std::set<std::int64_t> changed;
    SearchLoop walking = search_;
    for (StmtPtr &statement : walking.body) {
      statement = rewrite(statement, changed);
    }
    PassingTurn walked(walking);
    if (!walked.run()) {
      return nullptr;
    }
    ends_ = {search_.end};
    for (const auto &[statement, inside] : walked.asked()) {
      if (bound(inside)) {
        known_.insert(statement);
      }
    }
    if (known_.empty()) {
      return nullptr;
    }
    bound_types();
    std::vector<StmtPtr> before{let(begin_->id, begin_->name, search_.next)};
    for (const Step &step : steps_) {
      before.push_back(let(step.first->id, step.first->name, cast_value(step.local, Int64)));
    }
    ValuePtr end = ends_.front();
    for (const ValuePtr &each : ends_) {
      end = minimum(end, each);
    }
    std::vector<StmtPtr> body;
    for (const StmtPtr &statement : walking.body) {
      body.push_back(without_checks(statement));
    }
    const StmtPtr loop = copy_with(walking.with(end, std::move(body)), {}, numbers_);
    before.push_back(if_then(begins_inside_, loop));
    return block(std::move(before));
  }

private:
  bool is_inner(std::int64_t id) const {
    return std::any_of(search_.body.begin(), search_.body.end(), [&](const StmtPtr &root) {
      bool found = false;
      visit_statements(root, [&](const LoopStatement &statement) {
        const auto *declared = as<DeclareLocal>(statement);
        found = found || (declared != nullptr && declared->id == id);
      });
      return found;
    });
  }

  ValuePtr turns() const { return sub(search_.iteration, begin_); }

  /// What locals that step are when the turn begins, in the place of those that it has not changed.
  ValuePtr now(const ValuePtr &value, const std::set<std::int64_t> &changed) const {
    const auto stepping = [&](const ValuePtr &node) -> const Step * {
      const auto *own = as<Local>(node);
      const auto found = own == nullptr || changed.contains(own->id)
                             ? steps_.end()
                             : std::find_if(steps_.begin(), steps_.end(), [&](const Step &step) {
                                 return step.local->id == own->id;
                               });
      return found == steps_.end() ? nullptr : &*found;
    };
    return ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
      const bool is_index = is<Cast>(node) && is_int64(node);
      const Step *step = stepping(is_index ? node->operands[0] : node);
      if (step == nullptr) {
        return nullptr;
      }
      const ValuePtr index = add(step->first, mul(integer(step->by), turns()));
      return is_index ? index : cast_value(index, node->type.scalar);
    })(value);
  }

  StmtPtr rewrite(const StmtPtr &statement, std::set<std::int64_t> &changed) const {
    const auto here = changed;
    const StmtPtr own =
        map_values(statement, [&](const ValuePtr &value) { return now(value, here); });
    const StmtPtr made =
        map_children(own, [&](const StmtPtr &child) { return rewrite(child, changed); });
    if (const auto *assigned = as<AssignLocal>(statement)) {
      changed.insert(assigned->id);
    }
    return made;
  }

  /// Whether a subscript is inside in all iterations from the first one to an end, which is noted.
  bool bound(const PassingTurn::Inside &inside) {
    if (!inside.subscript || !inside.extent || !is_index(inside.extent) ||
        mentions(inside.extent, search_.iteration->id) || !is_index(inside.subscript)) {
      return false;
    }
    const auto sum = linear_of(inside.subscript);
    if (!sum) {
      return false;
    }
    Linear rest{{}, sum->constant};
    std::int64_t by = 0;
    for (const Linear::Term &term : sum->terms) {
      const auto *own = as<Variable>(term.atom);
      if (own != nullptr && own->id == search_.iteration->id) {
        by = term.coefficient;
      } else if (mentions(term.atom, search_.iteration->id)) {
        return false;
      } else {
        rest.terms.push_back(term);
      }
    }
    if (by == 0) {
      return false;
    }
    const ValuePtr others = value_of(rest);
    const ValuePtr at_first = with_variable(inside.subscript, search_.iteration->id, begin_);
    if (by > 0) {
      const ValuePtr room = sub(sub(inside.extent, integer(1)), others);
      ends_.push_back(add(floor_div(room, integer(by)), integer(1)));
      begins_inside_ = both(begins_inside_, binary_value(Op::Le, integer(0), at_first));
    } else {
      ends_.push_back(add(floor_div(others, integer(-by)), integer(1)));
      begins_inside_ = both(begins_inside_, binary_value(Op::Lt, at_first, inside.extent));
    }
    return true;
  }

  /// Up to where no local leaves its type.
  void bound_types() {
    for (const Step &step : steps_) {
      const ScalarType type = step.local->type.scalar;
      const int bits = type.bits;
      if (bits >= 64) {
        continue;
      }
      const bool is_signed = type.is_signed_integer();
      const std::int64_t most = (std::int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
      const std::int64_t least = is_signed ? -most - 1 : 0;
      const ValuePtr room =
          step.by > 0 ? sub(integer(most), step.first) : sub(step.first, integer(least));
      ends_.push_back(add(begin_, floor_div(room, integer(std::abs(step.by)))));
    }
  }

  StmtPtr without_checks(const StmtPtr &statement) const {
    if (known_.contains(statement.get())) {
      const auto *test = as<If>(statement);
      return test == nullptr ? block({}) : without_checks(test->then());
    }
    return map_children(statement, [&](const StmtPtr &child) { return without_checks(child); });
  }

  const SearchLoop &search_;
  Numbers &numbers_;
  std::shared_ptr<const Variable> begin_; ///< the first iteration
  std::vector<Step> steps_;
  std::set<const LoopStatement *> known_;
  std::vector<ValuePtr> ends_;
  ValuePtr begins_inside_ = boolean(true);
};

class Walker {
public:
  explicit Walker(const Kernel &kernel) : numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    if (const auto *loop = as<While>(statement); loop != nullptr && is_short(statement)) {
      if (const auto search = SearchLoop::of(*loop)) {
        if (StmtPtr ahead = Walk(*search, numbers_).ahead()) {
          return block({std::move(ahead), statement});
        }
      }
    }
    if (is<For>(statement) || is<While>(statement)) {
      return statement; // what is done again and again is short, as far as anybody knows
    }
    return map_children(statement, *this);
  }

private:
  static bool is_short(const StmtPtr &statement) {
    int statements = 0;
    visit_statements(statement, [&](const LoopStatement & /*inner*/) { ++statements; });
    return statements <= most_statements;
  }

  Numbers numbers_;
};

} // namespace

void walk_arrays(Kernel &kernel) { kernel.body = Walker(kernel)(kernel.body); }

} // namespace tilewright
