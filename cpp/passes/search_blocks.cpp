#include "passes/search_blocks.h"

#include "loops/traverse.h"
#include "passes/loop_outcomes.h"
#include "passes/terms_in_lanes.h"

#include <optional>
#include <vector>

namespace tilewright {

namespace {

/// Locals that go with a best value.
constexpr size_t most_others = 4;
/// Vectors whose lanes have best values of their own, so that none waits for the one before.
constexpr std::int64_t side_by_side = 2;
/// In a block: enough of them to pay for a look at all lanes, few enough to be searched again.
constexpr std::int64_t vectors_of_block = 16;

/// What a loop keeps.
struct Extremum {
  Op better = Op::None;   ///< Gt or Lt: the relation of a new best value to the old one
  bool finds_nan = false; ///< the first not-a-number is better than all others
  /// Not-a-number takes the place of any, and any that of it: `not x[k] <= best`. Then the loop
  /// runs as it is.
  bool takes_nan = false;
  ValuePtr term;
  std::shared_ptr<const Local> best;
  std::vector<LoopOutcome> others; ///< what goes with the best value, such as its position
};

/// Without alternatives that are False, choices of truth values as what they say.
ValuePtr settled(const ValuePtr &condition) {
  if (const auto *chosen = as<Select>(condition)) {
    if (as_boolean(chosen->then()) == true) {
      return either(settled(chosen->condition()), settled(chosen->otherwise()));
    }
    if (as_boolean(chosen->otherwise()) == false) {
      return both(settled(chosen->condition()), settled(chosen->then()));
    }
    return condition;
  }
  const auto *either_of = as_binary(condition, Op::Or);
  const auto *both_of = as_binary(condition, Op::And);
  if (either_of != nullptr) {
    return either(settled(either_of->left()), settled(either_of->right()));
  }
  if (both_of != nullptr) {
    return both(settled(both_of->left()), settled(both_of->right()));
  }
  // No whole number differs from itself.
  for (const Op op : {Op::Eq, Op::Ne}) {
    const auto *same = as_binary(condition, op);
    if (same != nullptr && !same->left()->type.scalar.is_floating() &&
        !same->left()->type.scalar.is_complex() && same_value(same->left(), same->right())) {
      return boolean(op == Op::Eq);
    }
  }
  return condition;
}

/// Finds what a loop keeps in what its locals become.
class Finder {
public:
  explicit Finder(const std::vector<LoopOutcome> &all) : all_(all) {}

  std::optional<Extremum> find() const {
    for (const LoopOutcome &best : all_) {
      if (auto found = all_.size() > 1 ? kept_by(best) : std::nullopt) {
        return found;
      }
    }
    return std::nullopt;
  }

private:
  /// If that is the best value, and all others go with it.
  std::optional<Extremum> kept_by(const LoopOutcome &best) const {
    const auto *value = as<Select>(best.value);
    const bool keeps_otherwise = value != nullptr && same_value(value->otherwise(), best.local);
    if (value == nullptr || best.local->type.lanes != 1 ||
        (!keeps_otherwise && !same_value(value->then(), best.local))) {
      return std::nullopt;
    }
    const ValuePtr &term = new_of(*value, keeps_otherwise);
    const ValuePtr condition = settled(value->condition());
    Extremum found{Op::None, false, false, term, best.local, {}};
    for (const LoopOutcome &other : all_) {
      if (other.local->id == best.local->id) {
        continue;
      }
      const auto *goes = as<Select>(other.value);
      if (goes == nullptr ||
          !same_value(keeps_otherwise ? goes->otherwise() : goes->then(), other.local) ||
          !same_value(condition, settled(goes->condition())) ||
          reads_any(new_of(*goes, keeps_otherwise), all_)) {
        return std::nullopt;
      }
      found.others.push_back({other.local, new_of(*goes, keeps_otherwise)});
    }
    const bool is_better =
        keeps_otherwise ? compares(condition, found) : compares_inverse(condition, found);
    return is_better && !reads_any(term, all_) ? std::optional(std::move(found)) : std::nullopt;
  }

  static const ValuePtr &new_of(const Select &value, bool keeps_otherwise) {
    return keeps_otherwise ? value.then() : value.otherwise();
  }

  /// The same of a condition that the old value stays: `x[k] <= best`.
  static bool compares_inverse(const ValuePtr &condition, Extremum &found) {
    for (const Op op : {Op::Le, Op::Ge}) {
      const Op turned = op == Op::Le ? Op::Ge : Op::Le;
      if (same_value(condition, binary_value(op, found.term, found.best)) ||
          same_value(condition, binary_value(turned, found.best, found.term))) {
        found.better = op == Op::Le ? Op::Gt : Op::Lt;
      }
    }
    found.takes_nan = found.term->type.scalar.is_floating();
    return found.better != Op::None;
  }

  /// Whether the condition is that the term is better, and by which relation.
  static bool compares(const ValuePtr &condition, Extremum &found) {
    std::vector<ValuePtr> alternatives;
    operands_of(Op::Or, condition, alternatives);
    for (const Op op : {Op::Gt, Op::Lt}) {
      const Op turned = op == Op::Gt ? Op::Lt : Op::Gt;
      if (same_value(alternatives.front(), binary_value(op, found.term, found.best)) ||
          same_value(alternatives.front(), binary_value(turned, found.best, found.term))) {
        found.better = op;
      }
    }
    const ValuePtr nan_first = both(binary_value(Op::Ne, found.term, found.term),
                                    binary_value(Op::Eq, found.best, found.best));
    found.finds_nan = alternatives.size() == 2 && same_value(alternatives.back(), nan_first);
    return found.better != Op::None && (alternatives.size() == 1 || found.finds_nan);
  }

  const std::vector<LoopOutcome> &all_;
};
/// The loops over blocks for one loop.
class Search {
public:
  Search(const For &loop, Extremum what, Numbers &numbers)
      : loop_(loop), what_(std::move(what)),
        lanes_(term_vector_bytes / what_.term->type.scalar.bytes()), vector_(loop.id, lanes_),
        numbers_(numbers) {}

  /// Null where the terms do not lie side by side.
  StmtPtr make() {
    if (!vector_(what_.term, loop_.lower) || is_short(loop_, lanes_)) {
      return nullptr;
    }
    const ValuePtr extent = sub(loop_.upper, loop_.lower);
    const auto vectors = numbered_local("vectors");
    const auto found = numbered_local("found");
    const ValuePtr all = floor_div(add(extent, integer(lanes_ - 1)), integer(lanes_));
    return if_then(
        binary_value(Op::Ge, extent, integer(fewest_vectors * lanes_)),
        block({declare_local(vectors->id, vectors->name, all),
               declare_local(found->id, found->name, integer(-1)), searched(vectors, found)}),
        for_loop(loop_, loop_.lower, loop_.upper, loop_.body()));
  }

private:
  using LocalPtr = std::shared_ptr<const Local>;

  LocalPtr numbered_local(const std::string &name, ValueType type = {Int64, 1}) {
    return local(numbers_.next(), name, type);
  }

  ValuePtr is_better(const ValuePtr &one, const ValuePtr &other) const {
    const ValuePtr beyond = binary_value(what_.better, one, other);
    return what_.finds_nan ? either(beyond, both(binary_value(Op::Ne, one, one),
                                                 binary_value(Op::Eq, other, other)))
                           : beyond;
  }

  /// Of the terms of the block with the best value. If that is a number, none of them is NaN.
  ValuePtr is_it(const ValuePtr &term, const ValuePtr &best) const {
    const ValuePtr equal = binary_value(Op::Eq, term, best);
    return what_.finds_nan ? either(equal, binary_value(Op::Ne, term, term)) : equal;
  }

  /// What makes one of two values; not-a-number is one if it counts.
  Op chooses() const {
    const bool ignores_nan = what_.term->type.scalar.is_floating() && !what_.finds_nan;
    return what_.better == Op::Gt ? (ignores_nan ? Op::Fmax : Op::Max)
                                  : (ignores_nan ? Op::Fmin : Op::Min);
  }

  StmtPtr searched(const LocalPtr &vectors, const LocalPtr &found) {
    const ValueType type{what_.term->type.scalar, lanes_};
    std::vector<StmtPtr> all;
    std::vector<LocalPtr> most;
    for (std::int64_t k = 0; k < side_by_side; ++k) {
      most.push_back(numbered_local("most", type));
      all.push_back(declare_local(most.back()->id, "most", broadcast(what_.best, lanes_)));
    }
    const auto before = numbered_local("before", what_.best->type);
    const auto odd = numbered_local("odd", {Bool, lanes_});
    if (what_.takes_nan) {
      all.push_back(declare_local(before->id, before->name, what_.best));
      all.push_back(declare_local(odd->id, odd->name, broadcast(boolean(false), lanes_)));
    }
    const ValuePtr whole = floor_div(sub(loop_.upper, loop_.lower), integer(lanes_));
    const auto number = variable(numbers_.next(), "block");
    const ValuePtr begin = mul(number, integer(vectors_of_block));
    const ValuePtr end = minimum(add(begin, integer(vectors_of_block)), vectors);
    const auto last = numbered_local("end");
    std::vector<StmtPtr> look{declare_local(last->id, last->name, end)};
    // As many at once as there are sums of them, and then the others.
    const auto strip = variable(numbers_.next(), "v");
    const ValuePtr half = floor_div(minimum(last, whole), integer(side_by_side));
    std::vector<StmtPtr> together;
    for (std::int64_t k = 0; k < side_by_side; ++k) {
      const ValuePtr vector = add(mul(strip, integer(side_by_side)), integer(k));
      together.push_back(
          takes(most[static_cast<size_t>(k)], add(loop_.lower, mul(vector, integer(lanes_))), odd));
    }
    look.push_back(for_loop(strip->id, strip->name,
                            mul(number, integer(vectors_of_block / side_by_side)), half,
                            LoopKind::Serial, 0, block(std::move(together))));
    const auto other = variable(numbers_.next(), "v");
    look.push_back(for_loop(other->id, other->name, mul(half, integer(side_by_side)), last,
                            LoopKind::Serial, 0, takes(most.front(), first_of(other), odd)));
    look.push_back(compared(most, number, found));
    all.push_back(
        for_loop(number->id, number->name, integer(0),
                 floor_div(add(vectors, integer(vectors_of_block - 1)), integer(vectors_of_block)),
                 LoopKind::Serial, 0, block(std::move(look))));
    const StmtPtr position =
        if_then(binary_value(Op::Ge, found, integer(0)), placed(vectors, found));
    if (!what_.takes_nan) {
      all.push_back(position);
      return block(std::move(all));
    }
    const ValuePtr is_odd = either(reduce_lanes(Op::Or, odd), binary_value(Op::Ne, before, before));
    const StmtPtr again = block({assign_local(what_.best->id, what_.best->name, before),
                                 for_loop(loop_, loop_.lower, loop_.upper, loop_.body())});
    all.push_back(if_then(is_odd, again, position));
    return block(std::move(all));
  }

  /// Where a vector begins: the last one with the last terms, some of which are in the one before.
  ValuePtr first_of(const ValuePtr &vector) const {
    return minimum(add(loop_.lower, mul(vector, integer(lanes_))),
                   sub(loop_.upper, integer(lanes_)));
  }

  StmtPtr takes(const LocalPtr &most, const ValuePtr &first, const LocalPtr &odd) const {
    const ValuePtr terms = vector_(what_.term, first);
    StmtPtr taken = assign_local(most->id, most->name, binary_value(chooses(), most, terms));
    if (!what_.takes_nan) {
      return taken;
    }
    return block(
        {taken, assign_local(odd->id, odd->name, either(odd, binary_value(Op::Ne, terms, terms)))});
  }

  /// Behind a block: is there a better value in it?
  StmtPtr compared(const std::vector<LocalPtr> &most, const ValuePtr &number,
                   const LocalPtr &found) const {
    ValuePtr all = most.front();
    for (size_t k = 1; k < most.size(); ++k) {
      all = binary_value(chooses(), all, most[k]);
    }
    const ValuePtr any = reduce_lanes(Op::Or, is_better(all, best_in_lanes()));
    return if_then(
        any, block({assign_local(what_.best->id, what_.best->name, reduce_lanes(chooses(), all)),
                    assign_local(found->id, found->name, number)}));
  }

  /// The first term of the block that is the best value: it is in one of its vectors.
  StmtPtr placed(const LocalPtr &vectors, const LocalPtr &found) {
    const auto at = numbered_local("at");
    const auto vector = numbered_local("v");
    const ValuePtr is_there = is_it(vector_(what_.term, first_of(vector)), best_in_lanes());
    const ValuePtr is_last = binary_value(Op::Ge, add(vector, integer(1)), vectors);
    const ScalarType count = ScalarType{TypeKind::Int, what_.term->type.scalar.bits};
    const ValuePtr lane = select_value(is_there, cast_value(ramp(integer(0), 1, lanes_), count),
                                       broadcast(cast_value(integer(lanes_ - 1), count), lanes_));
    const ValuePtr first = cast_value(reduce_lanes(Op::Min, lane), Int64);
    std::vector<StmtPtr> all{
        declare_local(vector->id, vector->name, mul(found, integer(vectors_of_block))),
        while_loop(unary_value(Op::Not, either(is_last, reduce_lanes(Op::Or, is_there))),
                   assign_local(vector->id, vector->name, add(vector, integer(1)))),
        declare_local(at->id, at->name, add(first_of(vector), first)),
        // its sign, where it is 0
        assign_local(what_.best->id, what_.best->name, with_variable(what_.term, loop_.id, at))};
    for (const LoopOutcome &other : what_.others) {
      all.push_back(assign_local(other.local->id, other.local->name,
                                 with_variable(other.value, loop_.id, at)));
    }
    return block(std::move(all));
  }

  ValuePtr best_in_lanes() const { return broadcast(what_.best, lanes_); }

  const For &loop_;
  Extremum what_;
  int lanes_;
  TermsInLanes vector_;
  Numbers &numbers_;
};

class Searches {
public:
  explicit Searches(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (loop != nullptr && loop->prefetches.empty()) {
      const auto outcomes = loop_outcomes(loop->body(), most_others + 1);
      if (auto kept = outcomes ? Finder(*outcomes).find() : std::nullopt) {
        if (StmtPtr made = Search(*loop, std::move(*kept), numbers_).make()) {
          return made;
        }
      }
    }
    return map_children(statement, *this);
  }

private:
  Numbers numbers_;
};

} // namespace

StmtPtr search_blocks(const StmtPtr &body) { return Searches(body)(body); }

} // namespace tilewright
