#include "passes/check_ahead.h"

#include "loops/summing_loops.h"
#include "loops/traverse.h"
#include "passes/loop_outcomes.h"
#include "passes/terms_in_lanes.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tilewright {

namespace {

/// Loops of fewer iterations ask each time.
constexpr std::int64_t fewest_iterations = 64;

/// A question that each iteration asks.
struct Question {
  const CheckIndex *check;
  ValuePtr subscript; ///< of the type in which it lies in its array
  /// What gives it the name that is asked about, if it counts from the end where it is negative.
  const Let *from_end = nullptr;
};

/// x of `x + n if x < 0 else x`; the value itself otherwise.
ValuePtr before_wrap(const ValuePtr &value) {
  const auto *chosen = as<Select>(value);
  const auto *test = chosen == nullptr ? nullptr : as_binary(chosen->condition(), Op::Lt);
  const bool is_wrap = test != nullptr && as_integer(test->right()) == 0 &&
                       same_value(test->left(), chosen->otherwise());
  return is_wrap ? chosen->otherwise() : value;
}

/// What a loop changes, and whether it has loops inside.
struct Changes {
  std::set<std::int64_t> buffers;
  std::set<std::int64_t> locals;
  bool has_loops = false;
  /// Are elements changed that data choose? No vectors are made of such a loop.
  bool are_scattered = false;

  explicit Changes(const StmtPtr &body) {
    visit_statements(body, [&](const LoopStatement &statement) {
      has_loops = has_loops || is<For>(statement) || is<While>(statement) ||
                  is<Allocate>(statement) || is<Timed>(statement);
      if (const auto *change = as<ElementChange>(statement)) {
        buffers.insert(change->buffer);
        for (const ValuePtr &subscript : change->subscripts) {
          are_scattered = are_scattered || !is_plain(subscript, body);
        }
      } else if (const auto *assigned = as<AssignLocal>(statement)) {
        locals.insert(assigned->id);
      }
    });
  }
  /// Is it made of the loops' variables alone?
  static bool is_plain(const ValuePtr &subscript, const StmtPtr &body) {
    bool found = true;
    visit_value(subscript, [&](const Value &node) {
      found = found && !is<Load>(node) && !is<Local>(node);
      if (const auto *variable = as<Variable>(node)) {
        visit_statements(body, [&](const LoopStatement &statement) {
          const auto *named = as<Let>(statement);
          found = found && (named == nullptr || named->id != variable->id);
        });
      }
    });
    return found;
  }

  bool touches(const ValuePtr &value) const {
    bool found = false;
    visit_value(value, [&](const Value &node) {
      const auto *read = as<Load>(node);
      const auto *own = as<Local>(node);
      found = found || (read != nullptr && buffers.contains(read->buffer)) ||
              (own != nullptr && locals.contains(own->id)) || is<Extern>(node);
    });
    return found;
  }
};

class AheadOfLoops {
public:
  explicit AheadOfLoops(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as<For>(statement);
    const bool may_be = loop != nullptr && loop->prefetches.empty() &&
                        (loop->loop == LoopKind::Serial || loop->loop == LoopKind::Parallel);
    if (may_be) {
      if (StmtPtr made = in_two_versions(*loop)) {
        return made;
      }
    }
    return map_children(statement, *this);
  }

private:
  static std::vector<Question> questions_of(const For &loop) {
    const Changes changes(loop.body());
    std::vector<Question> found;
    if (changes.has_loops || changes.are_scattered || !is<Block>(loop.body())) {
      return found;
    }
    std::map<std::int64_t, ValuePtr> declared;
    std::map<std::int64_t, ValuePtr> let;
    std::map<std::int64_t, const Let *> lets;
    const auto resolved = [&](const ValuePtr &value) {
      return ValueRewriter([&](const ValuePtr &node) -> ValuePtr {
        if (const auto *own = as<Local>(node)) {
          const auto known = declared.find(own->id);
          return known == declared.end() ? nullptr : known->second;
        }
        const auto *variable = as<Variable>(node);
        const auto known = variable == nullptr ? let.end() : let.find(variable->id);
        return known == let.end() ? nullptr : known->second;
      })(value);
    };
    for (const StmtPtr &child : loop.body()->children) {
      if (const auto *local = as<DeclareLocal>(child)) {
        declared[local->id] = resolved(local->value);
      } else if (const auto *named = as<Let>(child)) {
        let[named->id] = resolved(named->value);
        lets[named->id] = named;
      }
      const auto *check = as<CheckIndex>(child);
      if (check == nullptr || check->mask || check->value->type != ValueType{Int64, 1}) {
        continue;
      }
      const ValuePtr asked = resolved(check->value);
      ValuePtr subscript = before_wrap(asked);
      const Let *from_end = nullptr;
      if (subscript != asked) {
        const auto *name = as<Variable>(check->value);
        const auto named = name == nullptr ? lets.end() : lets.find(name->id);
        if (named == lets.end()) {
          continue;
        }
        from_end = named->second;
      }
      const ValuePtr upper = resolved(check->upper);
      if (changes.touches(subscript) || changes.touches(upper) || mentions(upper, loop.id) ||
          !mentions(subscript, loop.id)) {
        continue;
      }
      if (const auto *cast = as<Cast>(subscript)) {
        subscript = cast->operands[0];
      }
      const auto *read = as<Load>(subscript);
      if (read != nullptr && read->type.scalar.is_integer() && read->type.scalar.bytes() >= 4) {
        found.push_back({check, subscript, from_end});
      }
    }
    return found;
  }

  /// Null where no question can be asked before.
  StmtPtr in_two_versions(const For &loop) {
    std::vector<Question> questions = questions_of(loop);
    std::erase_if(questions, [&](const Question &each) {
      return !TermsInLanes(loop.id, lanes_of(each))(each.subscript, loop.lower);
    });
    if (questions.empty()) {
      return nullptr;
    }
    const auto holds = local(numbers_.next(), "are_inside", {Bool, 1});
    const ValuePtr are_many =
        binary_value(Op::Ge, sub(loop.upper, loop.lower), integer(fewest_iterations));
    std::vector<StmtPtr> asked;
    ValuePtr all = boolean(true);
    std::map<const LoopStatement *, StmtPtr> changed; // null: left out
    for (const Question &each : questions) {
      all = both(all, asked_of_all(loop, each, asked));
      changed[each.check] = nullptr;
      if (each.from_end != nullptr) { // none is negative
        changed[each.from_end] =
            let(each.from_end->id, each.from_end->name, before_wrap(each.from_end->value));
      }
    }
    asked.push_back(assign_local(holds->id, holds->name, all));
    std::vector<StmtPtr> rest;
    for (const StmtPtr &child : loop.body()->children) {
      const auto other = changed.find(child.get());
      if (other == changed.end() || other->second != nullptr) {
        rest.push_back(other == changed.end() ? child : other->second);
      }
    }
    const StmtPtr without =
        copy_with(for_loop(loop, loop.lower, loop.upper, block(std::move(rest))), {}, numbers_);
    return block({declare_local(holds->id, holds->name, boolean(false)),
                  if_then(are_many, block(std::move(asked))),
                  if_then(holds, without, for_loop(loop, loop.lower, loop.upper, loop.body()))});
  }

  static int lanes_of(const Question &question) {
    return static_cast<int>(term_vector_bytes / question.subscript->type.scalar.bytes());
  }

  /// Whether all subscripts are inside; what finds that goes to `before`.
  ValuePtr asked_of_all(const For &loop, const Question &question, std::vector<StmtPtr> &before) {
    const int lanes = lanes_of(question);
    const TermsInLanes vector(loop.id, lanes);
    const ScalarType type = question.subscript->type.scalar;
    const ValuePtr first = vector(question.subscript, loop.lower);
    const auto least = local(numbers_.next(), "least", {type, lanes});
    const auto most = local(numbers_.next(), "most", {type, lanes});
    const auto number = variable(numbers_.next(), "v");
    const ValuePtr extent = sub(loop.upper, loop.lower);
    const ValuePtr at =
        minimum(add(loop.lower, mul(number, integer(lanes))), sub(loop.upper, integer(lanes)));
    const ValuePtr terms = vector(question.subscript, at);
    before.push_back(declare_local(least->id, least->name, first));
    before.push_back(declare_local(most->id, most->name, first));
    before.push_back(
        for_loop(number->id, number->name, integer(1),
                 floor_div(add(extent, integer(lanes - 1)), integer(lanes)), LoopKind::Serial, 0,
                 block({assign_local(least->id, least->name, binary_value(Op::Min, least, terms)),
                        assign_local(most->id, most->name, binary_value(Op::Max, most, terms))})));
    const auto whole = [](const ValuePtr &value) { return cast_value(value, Int64); };
    return both(binary_value(Op::Ge, whole(reduce_lanes(Op::Min, least)), integer(0)),
                binary_value(Op::Lt, whole(reduce_lanes(Op::Max, most)), question.check->upper));
  }

  Numbers numbers_;
};

} // namespace

StmtPtr check_ahead(const StmtPtr &body) { return AheadOfLoops(body)(body); }

} // namespace tilewright
