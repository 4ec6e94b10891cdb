#include "passes/settle_tests.h"

#include "loops/linear.h"
#include "loops/summing_loops.h"
#include "loops/traverse.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

namespace tilewright {

namespace {

/// Statements of a body that is written out three times.
constexpr std::int64_t largest_body = 100;

/// What the body of a loop does to locals.
struct Locals {
  std::set<std::int64_t> declared;
  std::map<std::int64_t, std::vector<ValuePtr>> assigned;
  std::map<std::int64_t, ValuePtr> named; ///< those that are declared and never assigned
};

class Settling {
public:
  explicit Settling(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (loop != nullptr && is_straight(*loop)) {
      return at_loop(statement);
    }
    return map_children(statement, *this);
  }

private:
  /// A position that is asked: `at`, and what it is compared with, which is all that it takes.
  struct Position {
    ValuePtr at;
    ValuePtr next;
  };

  /// Nothing but definitions, stores and conditions, and not too many.
  static bool is_straight(const For &loop) {
    std::int64_t size = 0;
    bool straight = true;
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      ++size;
      straight = straight &&
                 (is<Block>(inner) || is<Definition>(inner) || is<Store>(inner) || is<If>(inner));
    });
    return straight && size <= largest_body;
  }

  static Locals locals_of(const For &loop, std::set<std::int64_t> &variables) {
    Locals locals;
    variables.insert(loop.id);
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      if (const auto *declaration = as<DeclareLocal>(inner)) {
        locals.declared.insert(declaration->id);
        locals.named[declaration->id] = declaration->value;
      } else if (const auto *assignment = as<AssignLocal>(inner)) {
        locals.assigned[assignment->id].push_back(assignment->value);
      } else if (const std::int64_t *variable = defined_variable(inner)) {
        variables.insert(*variable);
      }
    });
    for (const auto &[id, values] : locals.assigned) {
      locals.named.erase(id);
    }
    return locals;
  }

  /// The local that is given this value, however many names it has had in between; else null.
  static const Local *local_behind(const ValuePtr &value, const Locals &locals) {
    const auto *local = as<Local>(value);
    while (local != nullptr) {
      const auto name = locals.named.find(local->id);
      if (name == locals.named.end()) {
        break;
      }
      local = as<Local>(name->second);
    }
    return local;
  }

  /// Does it stay the same or grow from one iteration of the loop to the next, in every lane?
  static bool never_falls(const ValuePtr &value, const For &loop,
                          const std::set<std::int64_t> &variables) {
    const auto *ramp = as<Ramp>(value);
    const auto *same = as<Broadcast>(value);
    const ValuePtr &base = ramp != nullptr   ? ramp->base()
                           : same != nullptr ? same->operand()
                                             : value;
    const auto linear = is_index(base) ? linear_of(base) : std::nullopt;
    return linear &&
           std::all_of(linear->terms.begin(), linear->terms.end(), [&](const Linear::Term &term) {
             if (is_variable(term.atom, loop.id)) {
               return term.coefficient > 0;
             }
             return std::none_of(variables.begin(), variables.end(),
                                 [&](std::int64_t id) { return mentions(term.atom, id); });
           });
  }

  /// Is each value that the local `at` takes `next`, or what it was?
  static bool takes_only(const ValuePtr &value, const Position &position, const Locals &locals) {
    if (const auto *choice = as<Select>(value)) {
      return takes_only(choice->then(), position, locals) &&
             takes_only(choice->otherwise(), position, locals);
    }
    const Local *own = local_behind(value, locals);
    return (own != nullptr && own->id == cast<Local>(position.at).id) ||
           same_value(value, position.next);
  }

  /// The position that a comparison asks, if it is one whose answer settles.
  static std::optional<Position> position_of(const Value &test, const For &loop,
                                             const Locals &locals,
                                             const std::set<std::int64_t> &variables) {
    const auto *less = as_binary(test, Op::Lt);
    const Local *at = less == nullptr ? nullptr : local_behind(less->right(), locals);
    if (at == nullptr || at->type.scalar != Int64 || locals.declared.contains(at->id)) {
      return std::nullopt;
    }
    const auto assigned = locals.assigned.find(at->id);
    Position position{local(at->id, at->name, at->type), less->left()};
    if (assigned == locals.assigned.end() || !never_falls(position.next, loop, variables) ||
        !std::all_of(assigned->second.begin(), assigned->second.end(),
                     [&](const ValuePtr &value) { return takes_only(value, position, locals); })) {
      return std::nullopt;
    }
    return position;
  }

  StmtPtr at_loop(const StmtPtr &statement) {
    const auto &loop = cast<For>(statement);
    std::set<std::int64_t> variables;
    const Locals locals = locals_of(loop, variables);
    std::vector<Position> positions;
    visit_statements(loop.body(), [&](const LoopStatement &inner) {
      visit_values(inner, [&](const Value &value) {
        const auto found = position_of(value, loop, locals, variables);
        if (found && std::none_of(positions.begin(), positions.end(), [&](const Position &known) {
              return same_value(known.at, found->at) && same_value(known.next, found->next);
            })) {
          positions.push_back(*found);
        }
      });
    });
    if (positions.empty()) {
      return statement;
    }
    ValueRewriter at_first([&](const ValuePtr &value) -> ValuePtr {
      return is_variable(value, loop.id) ? loop.lower : nullptr;
    });
    ValuePtr settled = boolean(true);
    for (const Position &position : positions) {
      const ValuePtr each = binary_value(Op::Le, position.at, at_first(position.next));
      settled = both(settled, each->type.lanes == 1 ? each : reduce_lanes(Op::And, each));
    }
    const auto rest = [&](const StmtPtr &body) {
      return for_loop(loop, add(loop.lower, integer(1)), loop.upper, body);
    };
    const StmtPtr first = copy_with(loop.body(), {{loop.id, loop.lower}}, numbers_);
    const StmtPtr answered =
        copy_with(rest(with_answers(loop.body(), loop, locals, variables)), {}, numbers_);
    return if_then(binary_value(Op::Lt, loop.lower, loop.upper),
                   block({first, if_then(settled, answered, rest(loop.body()))}));
  }

  /// `body`, in which the tests do not hold.
  static StmtPtr with_answers(const StmtPtr &body, const For &loop, const Locals &locals,
                              const std::set<std::int64_t> &variables) {
    ValueRewriter answer([&](const ValuePtr &value) -> ValuePtr {
      return position_of(*value, loop, locals, variables)
                 ? broadcast(boolean(false), value->type.lanes)
                 : nullptr;
    });
    const std::function<StmtPtr(const StmtPtr &)> rewrite = [&](const StmtPtr &statement) {
      return map_children(map_values(statement, std::ref(answer)), rewrite);
    };
    return rewrite(body);
  }

  Numbers numbers_;
};

} // namespace

StmtPtr settle_tests(const StmtPtr &body) { return Settling(body)(body); }

} // namespace tilewright
