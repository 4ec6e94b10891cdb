#include "passes/count_joined_loops.h"

#include "loops/traverse.h"
#include "polyhedral/error.h"

#include <fmt/format.h>

namespace tilewright {

namespace {

/// The loops, outermost first, the conditions between them, and what they run.
struct Nest {
  std::vector<const For *> loops;
  std::vector<ValuePtr> conditions;
  StmtPtr body;
};

class JoinedNests {
public:
  JoinedNests(const Kernel &kernel, bool for_people)
      : kernel_(kernel), for_people_(for_people), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as<For>(statement);
    if (loop == nullptr || loop->counts.inside == 0 || loop->counts.strip == 0) {
      return map_children(statement, *this);
    }
    Nest nest = nest_of(*loop);
    nest.body = (*this)(nest.body);
    return strips_of(nest);
  }

private:
  [[noreturn]] void refuse(const For &head, const std::string &what) const {
    throw Error(ErrorKind::Schedule,
                fmt::format("{}: loop '{}' counts through loops that cannot run as one: {}; give "
                            "the loops without join, or split the inner one",
                            kernel_.name, head.name, what));
  }

  Nest nest_of(const For &head) const {
    Nest nest{{&head}, {}, head.body()};
    while (nest.loops.size() <= static_cast<size_t>(head.counts.inside)) {
      const auto *test = as<If>(nest.body);
      if (test != nullptr && !test->has_otherwise()) {
        nest.conditions.push_back(test->condition);
        nest.body = test->then();
        continue;
      }
      const auto *inner = as<For>(nest.body);
      if (inner == nullptr) {
        refuse(head, "a statement stands between them");
      }
      for (const ValuePtr &bound : {inner->lower, inner->upper}) {
        visit_value(bound, [&](const Value &value) {
          const auto *variable = as<Variable>(value);
          for (const For *outer : nest.loops) {
            if (variable != nullptr && variable->id == outer->id) {
              refuse(head, "the bounds of the inner one depend on the outer one");
            }
          }
        });
      }
      nest.loops.push_back(inner);
      nest.body = inner->body();
    }
    return nest;
  }

  /// A variable that has the value from here on.
  ValuePtr defined(std::vector<StmtPtr> &into, const std::string &name, const ValuePtr &value) {
    if (as<Constant>(value) != nullptr || as<Variable>(value) != nullptr ||
        as<Parameter>(value) != nullptr) {
      return value;
    }
    const std::int64_t number = numbers_.next();
    into.push_back(let(number, name, value));
    return variable(number, name);
  }

  StmtPtr strips_of(const Nest &nest) {
    const For &head = *nest.loops.front();
    const std::string base = head.name;
    std::vector<StmtPtr> around;
    std::vector<ValuePtr> extents;
    ValuePtr total = integer(1);
    for (const For *loop : nest.loops) {
      const ValuePtr extent = maximum(sub(loop->upper, loop->lower), integer(0));
      extents.push_back(defined(around, base + "_extent", extent));
      total = mul(total, extents.back());
    }
    total = defined(around, base + "_iterations", total);
    const StmtPtr divided = loop_over_strips(nest, extents, total, false);
    if (for_people_) {
      around.push_back(divided);
    } else {
      const ValuePtr short_strips =
          binary_value(Op::Ge, extents.back(), integer(head.counts.strip));
      around.push_back(
          if_then(short_strips, loop_over_strips(nest, extents, total, true), divided));
    }
    return block(std::move(around));
  }

  /// `carries`: a strip comes to one new row at most.
  StmtPtr loop_over_strips(const Nest &nest, const std::vector<ValuePtr> &extents,
                           const ValuePtr &total, bool carries) {
    const For &head = *nest.loops.front();
    const For &last = *nest.loops.back();
    const ValuePtr strip = integer(head.counts.strip);
    const std::int64_t outer_number = numbers_.next();
    const ValuePtr first = mul(strip, variable(outer_number, head.name));
    std::vector<StmtPtr> body;
    // Where the strip begins.
    std::vector<ValuePtr> positions(nest.loops.size());
    ValuePtr rest = first;
    for (size_t d = nest.loops.size() - 1; d > 0; --d) {
      positions[d] = defined(body, head.name + "_begin", floor_mod(rest, extents[d]));
      rest = defined(body, head.name + "_row", floor_div(rest, extents[d]));
    }
    positions[0] = rest;
    // Where an iteration of it is.
    const std::int64_t inner_number = numbers_.next();
    std::vector<StmtPtr> inside;
    std::unordered_map<std::int64_t, ValuePtr> variables;
    ValuePtr more = variable(inner_number, last.name);
    for (size_t d = nest.loops.size(); d-- > 0;) {
      ValuePtr position = add(positions[d], more);
      if (d > 0 && carries) {
        position = defined(inside, last.name + "_place", position);
        const ValuePtr next_row = binary_value(Op::Ge, position, extents[d]);
        more = select_value(next_row, integer(1), integer(0));
        position = sub(position, select_value(next_row, extents[d], integer(0)));
      } else if (d > 0) {
        position = defined(inside, last.name + "_place", position);
        more = floor_div(position, extents[d]);
        position = floor_mod(position, extents[d]);
      }
      const For &loop = *nest.loops[d];
      variables[loop.id] = defined(inside, d == 0 ? head.name + "_outer" : last.name + "_inner",
                                   add(loop.lower, position));
    }
    StmtPtr statement = nest.body;
    for (size_t c = nest.conditions.size(); c-- > 0;) {
      statement = if_then(nest.conditions[c], statement);
    }
    inside.push_back(copy_with(statement, variables, numbers_));
    body.push_back(for_loop(
        inner_number, last.name, integer(0), minimum(strip, sub(total, first)), head.counts.strips,
        head.counts.strips == LoopKind::Serial ? 0 : head.counts.strip, block(std::move(inside))));
    const ValuePtr strips = floor_div(add(total, integer(head.counts.strip - 1)), strip);
    auto loop =
        for_loop(outer_number, head.name, integer(0), strips, head.loop, 0, block(std::move(body)));
    loop->parallel = head.parallel;
    return loop;
  }

  const Kernel &kernel_;
  bool for_people_;
  Numbers numbers_;
};

} // namespace

void count_joined_loops(Kernel &kernel, bool for_people) {
  kernel.body = JoinedNests(kernel, for_people)(kernel.body);
}

} // namespace tilewright
