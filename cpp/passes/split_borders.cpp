#include "passes/split_borders.h"

#include "loops/index_tests.h"
#include "loops/tile_extent.h"
#include "loops/traverse.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// The first and last iterations of a loop that may be a border.
constexpr std::int64_t widest_border = 8;
/// Statements that all copies together may add.
constexpr std::int64_t max_added = 1500;
constexpr std::int64_t largest_body = 300;

/// Where the iterations begin, or end, in which something is decided: near the loop's own first or
/// last one.
struct Threshold {
  bool is_first = true;
  ValuePtr value;
};

/// A form that is >= 0 where `fact` is, without the quotient of one that joined loops have: of
/// integers, floor(e / d) + r >= 0 where e + d * r >= 0, and r - floor(e / d) >= 0 where
/// d * r + d - 1 - e >= 0.
std::optional<Linear> without_quotient(const Linear &fact) {
  for (size_t t = 0; t < fact.terms.size(); ++t) {
    const auto &[atom, coefficient] = fact.terms[t];
    const auto *quotient = as_binary(atom, Op::FloorDiv);
    const auto divisor = quotient == nullptr ? std::nullopt : as_integer(quotient->right());
    const auto dividend =
        divisor.value_or(0) > 0 ? linear_of(quotient->left()) : std::optional<Linear>();
    if (!dividend || (coefficient != 1 && coefficient != -1)) {
      continue;
    }
    Linear rest = fact;
    rest.terms.erase(rest.terms.begin() + static_cast<std::ptrdiff_t>(t));
    auto scaled = combine({}, rest, *divisor);
    auto found = scaled ? combine(*scaled, *dividend, coefficient) : std::nullopt;
    if (found && coefficient < 0) {
      found->constant += *divisor - 1;
    }
    return found;
  }
  return fact;
}

/// One loop, and what becomes of its body away from the borders.
class Borders {
public:
  Borders(const For &loop, const Ranges &known) : loop_(loop), known_(known) {
    operands_of(Op::Max, loop.lower, firsts_);
    operands_of(Op::Min, loop.upper, ends_);
    inside_.insert(loop.id);
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      if (const std::int64_t *variable = defined_variable(inner)) {
        inside_.insert(*variable);
      }
    });
    collect(loop.body());
  }

  /// Is there more than vector loops that end early, which tile separation takes care of?
  bool worthwhile() const { return worthwhile_; }
  const ValuePtr &first() const { return first_; } ///< null: from the loop's own first one
  const ValuePtr &end() const { return end_; }

  /// The body for the iterations before `end`; those before `first` too, or not.
  StmtPtr before_end(const StmtPtr &root, bool from_first) const {
    ValueRewriter rewrite([&](const ValuePtr &value) -> ValuePtr {
      const auto found = decided_.find({root.get(), value.get()});
      const bool holds = found != decided_.end() && (from_first || !found->second.from_first);
      return holds ? found->second.outcome : nullptr;
    });
    return map_children(map_values(root, std::ref(rewrite)),
                        [&](const StmtPtr &child) { return before_end(child, from_first); });
  }

  /// The body for the last iterations, in which vector loops are not worth another separation:
  /// they run under masks where the target has `masks`, else serially.
  StmtPtr last(const StmtPtr &root, bool masks) const {
    std::vector<StmtPtr> children;
    for (const StmtPtr &child : root->children) {
      children.push_back(last(child, masks));
    }
    const auto *loop = as_loop(root, LoopKind::Vector);
    if (loop == nullptr || !is_decided(root)) {
      return children.empty() ? root : with_children(root, std::move(children));
    }
    return for_loop(loop->id, loop->name, loop->lower, loop->upper,
                    masks ? LoopKind::MaskedVector : LoopKind::Serial, masks ? loop->factor : 0,
                    children[0]);
  }

private:
  /// What a test, minimum or maximum is between the borders.
  struct Decision {
    ValuePtr outcome;
    bool from_first = true; ///< from the first threshold on; else before the last one
  };

  bool is_decided(const StmtPtr &root) const {
    bool found = false;
    visit_statements(root, [&](const LoopStatement &inner) {
      const auto first = decided_.lower_bound({&inner, nullptr});
      found = found || (first != decided_.end() && first->first.first == &inner);
    });
    return found;
  }

  void collect(const StmtPtr &statement) {
    if (const auto *local = as<DeclareLocal>(statement);
        local != nullptr && local->value->type.scalar.is_bool()) {
      return; // lanes choose by it (choose_by_lanes.h)
    }
    // The bounds of a loop are outside of it.
    std::set<const Value *> seen;
    const std::function<void(const ValuePtr &)> visit = [&](const ValuePtr &value) {
      if (!seen.insert(value.get()).second) {
        return;
      }
      if (!decide(*statement, value)) {
        std::for_each(value->operands.begin(), value->operands.end(), visit);
      }
    };
    each_value(*statement, visit);
    const auto *loop = as<For>(statement);
    if (loop != nullptr) {
      around_.push_back(loop);
    }
    std::for_each(statement->children.begin(), statement->children.end(),
                  [&](const StmtPtr &child) { collect(child); });
    if (loop != nullptr) {
      around_.pop_back();
    }
  }

  /// Decides `value`, in `statement`, for the iterations away from the borders.
  bool decide(const LoopStatement &statement, const ValuePtr &value) {
    const auto *binary = as<Binary>(value);
    if (binary == nullptr) {
      return false;
    }
    const auto accept = [&](const std::optional<Linear> &fact, const ValuePtr &outcome) {
      const auto threshold = threshold_where(fact);
      if (threshold) {
        note(statement, *threshold);
        decided_[{&statement, value.get()}] = {outcome, threshold->is_first};
      }
      return threshold.has_value();
    };
    const auto at_least = [](const Linear &form, std::int64_t factor, std::int64_t least) {
      auto fact = combine({}, form, factor);
      if (fact) {
        fact->constant -= least;
      }
      return fact;
    };
    if (const auto test = index_test(value)) {
      const Linear &form = test->distance;
      if (test->equality) {
        return accept(at_least(form, 1, 1), boolean(test->negated)) ||
               accept(at_least(form, -1, 1), boolean(test->negated));
      }
      return accept(form, boolean(true)) || accept(at_least(form, -1, 1), boolean(false));
    }
    if (binary->op != Op::Min && binary->op != Op::Max) {
      return false;
    }
    if (decide_clamp(statement, value)) {
      return true;
    }
    const auto distance = difference(binary->left(), binary->right());
    if (!distance) {
      return false;
    }
    const bool is_max = binary->op == Op::Max;
    return accept(distance, is_max ? binary->left() : binary->right()) ||
           accept(at_least(*distance, -1, 0), is_max ? binary->right() : binary->left());
  }

  /// min(max(x, low), high), or max(min(x, high), low), is x away from both borders. Where one of
  /// them cannot be met, as that of x - 1 at the end of a loop, that is often seen of loops over
  /// one iterator; of joined ones it is not.
  bool decide_clamp(const LoopStatement &statement, const ValuePtr &value) {
    const auto &outer = cast<Binary>(value);
    const bool is_min = outer.op == Op::Min;
    const auto below = [&](const ValuePtr &low, const ValuePtr &high) {
      return threshold_where(difference(high, low));
    };
    for (const size_t side : {size_t{0}, size_t{1}}) {
      const auto *inner = as_binary(value->operands[side], is_min ? Op::Max : Op::Min);
      for (const size_t place : {size_t{0}, size_t{1}}) {
        if (inner == nullptr) {
          continue;
        }
        const ValuePtr &clamped = inner->operands[place];
        const ValuePtr &limit = inner->operands[1 - place];
        const ValuePtr &other = value->operands[1 - side];
        const auto one = is_min ? below(limit, clamped) : below(clamped, limit);
        const auto two = is_min ? below(clamped, other) : below(other, clamped);
        if (one && two) {
          note(statement, *one);
          note(statement, *two);
          decided_[{&statement, value.get()}] = {clamped, true};
          return true;
        }
      }
    }
    return false;
  }

  std::optional<Threshold> threshold_where(const std::optional<Linear> &fact) const {
    const auto plain = fact ? without_quotient(*fact) : std::nullopt;
    return plain ? threshold_of(*plain, around_.size()) : std::nullopt;
  }

  void note(const LoopStatement &statement, const Threshold &threshold) {
    const bool early_end = !threshold.is_first && (is_loop_of(statement, LoopKind::Vector) ||
                                                   is_loop_of(statement, LoopKind::Unrolled));
    worthwhile_ = worthwhile_ || !early_end;
    ValuePtr &bound = threshold.is_first ? first_ : end_;
    if (!bound) {
      bound = threshold.value;
    } else if (!same_value(bound, threshold.value)) {
      bound =
          threshold.is_first ? maximum(bound, threshold.value) : minimum(bound, threshold.value);
    }
  }

  /// The iterations in which `fact` >= 0 for all iterations of the first `depth` of the loops in
  /// between.
  std::optional<Threshold> threshold_of(const Linear &fact, size_t depth) const {
    while (depth > 0 && !depends_on(fact, around_[depth - 1]->id)) {
      --depth;
    }
    if (depth == 0) {
      return near_threshold(fact);
    }
    const For &inner = *around_[depth - 1];
    const auto coefficient = coefficient_of(fact, inner.id);
    if (!coefficient || *coefficient == 0) {
      return std::nullopt;
    }
    // Hardest to meet in the first or in the last iteration.
    const bool first = *coefficient > 0;
    std::vector<ValuePtr> bounds;
    operands_of(first ? Op::Max : Op::Min, first ? inner.lower : inner.upper, bounds);
    for (const ValuePtr &bound : bounds) {
      const auto at =
          difference(first ? bound : sub(bound, integer(1)), variable(inner.id, inner.name));
      const auto hardest = at ? combine(fact, *at, *coefficient) : std::nullopt;
      if (const auto found = hardest ? threshold_of(*hardest, depth - 1) : std::nullopt) {
        return found;
      }
    }
    return std::nullopt;
  }

  std::optional<Threshold> near_threshold(const Linear &fact) const {
    const auto coefficient = coefficient_of(fact, loop_.id);
    if (!coefficient || *coefficient == 0) {
      return std::nullopt;
    }
    Linear rest;
    rest.constant = fact.constant;
    for (const Linear::Term &term : fact.terms) {
      if (!is_variable(term.atom, loop_.id)) {
        rest.terms.push_back(term);
      }
    }
    if (std::any_of(inside_.begin(), inside_.end(),
                    [&](std::int64_t id) { return depends_on(rest, id); })) {
      return std::nullopt;
    }
    Threshold threshold;
    threshold.is_first = *coefficient > 0;
    const std::int64_t divisor = std::abs(*coefficient);
    if (threshold.is_first) { // v >= ceil(-rest / divisor)
      auto opposite = combine({}, rest, -1);
      if (!opposite) {
        return std::nullopt;
      }
      opposite->constant += divisor - 1;
      threshold.value = floor_div(value_of(*opposite), integer(divisor));
    } else { // v < rest // divisor + 1
      threshold.value = add(floor_div(value_of(rest), integer(divisor)), integer(1));
    }
    const std::vector<ValuePtr> &bounds = threshold.is_first ? firsts_ : ends_;
    const bool near = std::any_of(bounds.begin(), bounds.end(), [&](const ValuePtr &bound) {
      const auto width = threshold.is_first ? difference(threshold.value, bound)
                                            : difference(bound, threshold.value);
      const auto most = width ? known_.of(*width).upper : std::nullopt;
      return most && *most <= widest_border;
    });
    return near ? std::optional(threshold) : std::nullopt;
  }

  const For &loop_;
  const Ranges &known_;
  std::vector<ValuePtr> firsts_; ///< the loop begins at the greatest of these
  std::vector<ValuePtr> ends_;   ///< and ends at the least of these
  std::set<std::int64_t> inside_;
  std::vector<const For *> around_; ///< loops between this one and a statement
  std::map<std::pair<const LoopStatement *, const Value *>, Decision> decided_;
  bool worthwhile_ = false;
  ValuePtr first_;
  ValuePtr end_;
};

class Splitting {
public:
  Splitting(const StmtPtr &root, const Ranges &known, bool masks)
      : numbers_(root), known_(known), masks_(masks) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as<For>(statement);
    const bool may_split = loop != nullptr && is_innermost(*loop) &&
                           (loop->loop == LoopKind::Serial || loop->loop == LoopKind::Parallel);
    return may_split ? at_loop(statement) : map_children(statement, *this);
  }

private:
  StmtPtr at_loop(const StmtPtr &statement) {
    const auto &loop = cast<For>(statement);
    const auto extent = difference(loop.upper, loop.lower);
    const auto most = extent ? known_.of(*extent).upper : std::nullopt;
    if (most && *most <= widest_border) {
      return statement;
    }
    const Borders borders(loop, known_);
    const std::int64_t size = size_of(statement);
    const bool parallel = loop.loop == LoopKind::Parallel;
    const std::int64_t copies = parallel || !borders.first() || !borders.end() ? 1 : 2;
    if (!borders.worthwhile() || size > largest_body || added_ + copies * size > max_added) {
      return statement;
    }
    added_ += copies * size;
    const StmtPtr &body = loop.body();
    const ValuePtr counter = variable(loop.id, loop.name);
    if (parallel) {
      ValuePtr inner = boolean(true);
      if (borders.first()) {
        inner = both(inner, binary_value(Op::Ge, counter, borders.first()));
      }
      if (borders.end()) {
        inner = both(inner, binary_value(Op::Lt, counter, borders.end()));
      }
      const StmtPtr inside = borders.before_end(body, true);
      return with_children(statement, {if_then(inner, inside, copy_with(body, {}, numbers_))});
    }
    std::vector<StmtPtr> parts;
    ValuePtr lower = loop.lower;
    const ValuePtr upper = borders.end() ? minimum(loop.upper, borders.end()) : loop.upper;
    if (borders.first()) {
      parts.push_back(
          part(loop, lower, minimum(upper, borders.first()), borders.before_end(body, false)));
      lower = maximum(lower, borders.first());
    }
    parts.push_back(part(loop, lower, upper, borders.before_end(body, true)));
    if (borders.end()) {
      parts.push_back(
          part(loop, maximum(loop.lower, borders.end()), loop.upper, borders.last(body, masks_)));
    }
    return block(std::move(parts));
  }

  /// The iterations [lower, upper) of the loop, with a body of their own.
  StmtPtr part(const For &loop, const ValuePtr &lower, const ValuePtr &upper, const StmtPtr &body) {
    return copy_with(for_loop(loop, lower, upper, body), {}, numbers_);
  }

  Numbers numbers_;
  const Ranges &known_;
  bool masks_;
  std::int64_t added_ = 0;
};

} // namespace

StmtPtr split_borders(const StmtPtr &body, const Ranges &known, bool masks) {
  return Splitting(body, known, masks)(body);
}

} // namespace tilewright
