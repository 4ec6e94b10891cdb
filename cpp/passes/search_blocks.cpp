#include "passes/search_blocks.h"

#include "loops/linear.h"
#include "loops/traverse.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tilewright {

namespace {

/// Of one vector of terms: two registers of 32 bytes, or one of 64.
constexpr int vector_bytes = 64;
/// Vectors whose lanes have best values of their own, so that none waits for the one before.
constexpr std::int64_t side_by_side = 2;
/// In a block: enough of them to pay for a look at all lanes, few enough to be searched again.
constexpr std::int64_t vectors_of_block = 16;
/// Loops of fewer vectors stay as they are.
constexpr std::int64_t fewest_vectors = 2;

/// What a loop keeps.
struct Extremum {
  Op better = Op::None;   ///< Gt or Lt: the relation of a new best value to the old one
  bool finds_nan = false; ///< the first not-a-number is better than all others
  ValuePtr term;
  ValuePtr position;
  std::shared_ptr<const Local> best;
  std::shared_ptr<const Local> at;
};

bool depends_on(const ValuePtr &value, std::int64_t variable) {
  bool found = false;
  visit_value(value, [&](const Value &node) {
    const auto *own = as<Variable>(node);
    found = found || (own != nullptr && own->id == variable);
  });
  return found;
}

ValuePtr with_variable(const ValuePtr &value, std::int64_t variable, const ValuePtr &by) {
  return ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
    const auto *own = as<Variable>(node);
    return own != nullptr && own->id == variable ? by : nullptr;
  })(value);
}

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

/// What the two locals of a loop become in one iteration, over what they are before.
class Iteration {
public:
  /// False for a body that does anything else.
  bool run(const StmtPtr &body) {
    if (const auto *sequence = as<Block>(body)) {
      return std::all_of(sequence->children.begin(), sequence->children.end(),
                         [&](const StmtPtr &child) { return run(child); });
    }
    if (const auto *assigned = as<AssignLocal>(body)) {
      assign(*assigned, now(assigned->value));
      return assigned_.size() <= 2;
    }
    if (const auto *test = as<If>(body)) {
      return assign_if(*test);
    }
    const auto *declared = as<DeclareLocal>(body);
    if (declared == nullptr) {
      return false;
    }
    values_[declared->id] = now(declared->value);
    return true;
  }

  /// The extremum that the loop over this variable keeps, if it does.
  std::optional<Extremum> extremum(std::int64_t variable) const {
    if (assigned_.size() != 2) {
      return std::nullopt;
    }
    auto found = extremum(assigned_.begin()->second, assigned_.rbegin()->second, variable);
    return found ? found
                 : extremum(assigned_.rbegin()->second, assigned_.begin()->second, variable);
  }

private:
  void assign(const AssignLocal &assigned, const ValuePtr &value) {
    values_[assigned.id] = value;
    assigned_[assigned.id] = local(assigned.id, assigned.name, assigned.value->type);
  }

  /// Assignments under a condition.
  bool assign_if(const If &test) {
    if (test.has_otherwise()) {
      return false;
    }
    const ValuePtr condition = now(test.condition);
    const StmtPtr &then = test.then();
    const std::vector<StmtPtr> alone = {then};
    const std::vector<StmtPtr> &all = is<Block>(then) ? then->children : alone;
    return std::all_of(all.begin(), all.end(), [&](const StmtPtr &statement) {
      const auto *assigned = as<AssignLocal>(statement);
      if (assigned == nullptr) {
        return false;
      }
      const ValuePtr before = now(local(assigned->id, assigned->name, assigned->value->type));
      assign(*assigned, select_value(condition, now(assigned->value), before));
      return assigned_.size() <= 2;
    });
  }

  ValuePtr now(const ValuePtr &value) const {
    return ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
      const auto *own = as<Local>(node);
      const auto known = own == nullptr ? values_.end() : values_.find(own->id);
      return known == values_.end() ? nullptr : known->second;
    })(value);
  }

  std::optional<Extremum> extremum(const std::shared_ptr<const Local> &best,
                                   const std::shared_ptr<const Local> &at,
                                   std::int64_t variable) const {
    const auto *value = as<Select>(values_.at(best->id));
    const auto *position = as<Select>(values_.at(at->id));
    if (value == nullptr || position == nullptr || !same_value(value->otherwise(), best) ||
        !same_value(position->otherwise(), at) || !is_index(position->then()) ||
        best->type.lanes != 1 || at->type != ValueType{Int64, 1}) {
      return std::nullopt;
    }
    const ValuePtr condition = settled(value->condition());
    if (!same_value(condition, settled(position->condition()))) {
      return std::nullopt;
    }
    const auto place = linear_of(position->then());
    Extremum found{Op::None, false, value->then(), position->then(), best, at};
    const bool counts_up =
        place &&
        std::any_of(place->terms.begin(), place->terms.end(), [&](const Linear::Term &term) {
          const auto *own = as<Variable>(term.atom);
          return own != nullptr && own->id == variable && term.coefficient == 1;
        });
    return counts_up && compares(condition, found) && !reads_states(found)
               ? std::optional(std::move(found))
               : std::nullopt;
  }

  static bool reads_states(const Extremum &of) {
    bool found = false;
    for (const ValuePtr &value : {of.term, of.position}) {
      visit_value(value, [&](const Value &node) {
        const auto *own = as<Local>(node);
        found = found || (own != nullptr && (own->id == of.best->id || own->id == of.at->id));
      });
    }
    return found;
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

  std::map<std::int64_t, ValuePtr> values_;
  std::map<std::int64_t, std::shared_ptr<const Local>> assigned_;
};

/// `value` of `lanes` iterations of a loop at once, the first of which is `at`; null where they do
/// not lie side by side.
class Lanes {
public:
  Lanes(std::int64_t variable, int lanes) : variable_(variable), lanes_(lanes) {}

  ValuePtr operator()(const ValuePtr &value, const ValuePtr &at) const {
    if (!depends_on(value, variable_)) {
      return value->type.lanes == 1 ? broadcast(value, lanes_) : nullptr;
    }
    if (const auto *read = as<Load>(value)) {
      return loaded(*read, at);
    }
    std::vector<ValuePtr> parts;
    for (const ValuePtr &operand : value->operands) {
      parts.push_back((*this)(operand, at));
      if (!parts.back()) {
        return nullptr;
      }
    }
    if (const auto *unary = as<Unary>(value)) {
      return unary_value(unary->op, parts[0]);
    }
    if (const auto *binary = as<Binary>(value)) {
      return binary_value(binary->op, parts[0], parts[1]);
    }
    if (is<Cast>(value)) {
      return cast_value(parts[0], value->type.scalar);
    }
    if (const auto *call = as<Call>(value)) {
      return call_value(call->op, std::move(parts), value->type.scalar);
    }
    return is<Select>(value) ? select_value(parts[0], parts[1], parts[2]) : nullptr;
  }

private:
  ValuePtr loaded(const Load &read, const ValuePtr &at) const {
    std::vector<ValuePtr> subscripts = read.subscripts();
    if (read.type.lanes != 1 || subscripts.empty() || !is_index(subscripts.back()) ||
        std::any_of(subscripts.begin(), subscripts.end() - 1,
                    [&](const ValuePtr &each) { return depends_on(each, variable_); })) {
      return nullptr;
    }
    const auto step = linear_of(subscripts.back());
    const auto own = step ? std::find_if(step->terms.begin(), step->terms.end(),
                                         [&](const Linear::Term &term) {
                                           return depends_on(term.atom, variable_);
                                         })
                          : std::vector<Linear::Term>::const_iterator();
    if (!step || own == step->terms.end() || !is<Variable>(own->atom) || own->coefficient != 1) {
      return nullptr;
    }
    subscripts.back() = ramp(with_variable(subscripts.back(), variable_, at), 1, lanes_);
    return load(read.buffer, read.name, {read.type.scalar, lanes_}, std::move(subscripts));
  }

  std::int64_t variable_;
  int lanes_;
};

/// The loops over blocks for one loop.
class Search {
public:
  Search(const For &loop, Extremum what, Numbers &numbers)
      : loop_(loop), what_(std::move(what)), lanes_(vector_bytes / what_.term->type.scalar.bytes()),
        vector_(loop.id, lanes_), numbers_(numbers) {}

  /// Null where the terms do not lie side by side.
  StmtPtr make() {
    if (!vector_(what_.term, loop_.lower) || is_short()) {
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
  /// Does it have but a few iterations, whatever the sizes are?
  bool is_short() const {
    const auto *least = as_binary(loop_.upper, Op::Min);
    const auto first = as_integer(loop_.lower);
    const auto end = as_integer(least != nullptr ? least->right() : loop_.upper);
    return first && end && *end - *first < fewest_vectors * lanes_;
  }

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
          takes(most[static_cast<size_t>(k)], add(loop_.lower, mul(vector, integer(lanes_)))));
    }
    look.push_back(for_loop(strip->id, strip->name,
                            mul(number, integer(vectors_of_block / side_by_side)), half,
                            LoopKind::Serial, 0, block(std::move(together))));
    const auto other = variable(numbers_.next(), "v");
    look.push_back(for_loop(other->id, other->name, mul(half, integer(side_by_side)), last,
                            LoopKind::Serial, 0, takes(most.front(), first_of(other))));
    look.push_back(compared(most, number, found));
    all.push_back(
        for_loop(number->id, number->name, integer(0),
                 floor_div(add(vectors, integer(vectors_of_block - 1)), integer(vectors_of_block)),
                 LoopKind::Serial, 0, block(std::move(look))));
    all.push_back(if_then(binary_value(Op::Ge, found, integer(0)), placed(vectors, found)));
    return block(std::move(all));
  }

  /// Where a vector begins: the last one with the last terms, some of which are in the one before.
  ValuePtr first_of(const ValuePtr &vector) const {
    return minimum(add(loop_.lower, mul(vector, integer(lanes_))),
                   sub(loop_.upper, integer(lanes_)));
  }

  StmtPtr takes(const LocalPtr &most, const ValuePtr &first) const {
    return assign_local(most->id, most->name,
                        binary_value(chooses(), most, vector_(what_.term, first)));
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
    return block(
        {declare_local(vector->id, vector->name, mul(found, integer(vectors_of_block))),
         while_loop(unary_value(Op::Not, either(is_last, reduce_lanes(Op::Or, is_there))),
                    assign_local(vector->id, vector->name, add(vector, integer(1)))),
         declare_local(at->id, at->name, add(first_of(vector), first)),
         // its sign, where it is 0
         assign_local(what_.best->id, what_.best->name, with_variable(what_.term, loop_.id, at)),
         assign_local(what_.at->id, what_.at->name, with_variable(what_.position, loop_.id, at))});
  }

  ValuePtr best_in_lanes() const { return broadcast(what_.best, lanes_); }

  const For &loop_;
  Extremum what_;
  int lanes_;
  Lanes vector_;
  Numbers &numbers_;
};

class Searches {
public:
  explicit Searches(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (loop != nullptr && loop->prefetches.empty()) {
      Iteration iteration;
      auto kept = iteration.run(loop->body()) ? iteration.extremum(loop->id) : std::nullopt;
      if (kept) {
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
