#include "passes/find_last.h"

#include "loops/summing_loops.h"
#include "loops/traverse.h"
#include "passes/loop_outcomes.h"
#include "passes/terms_in_lanes.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace tilewright {

namespace {

constexpr size_t most_locals = 4;
/// Before the one is looked for.
constexpr int vectors_asked_at_once = 4;

using LastPtr = std::shared_ptr<const Local>;

/// What the last iteration leaves in which a condition holds.
struct LastIteration {
  ValuePtr condition;
  std::vector<LoopOutcome> set;

  static std::optional<LastIteration> of(const For &loop) {
    const auto outcomes = loop_outcomes(loop.body(), most_locals);
    if (!outcomes || outcomes->empty()) {
      return std::nullopt;
    }
    LastIteration last;
    for (const LoopOutcome &each : *outcomes) {
      const auto *chosen = as<Select>(each.value);
      if (chosen == nullptr || !same_value(chosen->otherwise(), each.local) ||
          reads_any(chosen->condition(), *outcomes) || reads_any(chosen->then(), *outcomes) ||
          (last.condition && !same_value(last.condition, chosen->condition()))) {
        return std::nullopt;
      }
      last.condition = chosen->condition();
      last.set.push_back({each.local, chosen->then()});
    }
    return last;
  }
};

class LastFinder {
public:
  explicit LastFinder(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as_loop(statement, LoopKind::Serial);
    if (loop != nullptr && loop->prefetches.empty()) {
      if (const auto last = LastIteration::of(*loop)) {
        if (StmtPtr made = from_behind(*loop, *last)) {
          return made;
        }
      }
    }
    return map_children(statement, *this);
  }

private:
  LastPtr numbered_local(const std::string &name) {
    return local(numbers_.next(), name, {Int64, 1});
  }

  /// Null where what the test reads does not lie side by side.
  StmtPtr from_behind(const For &loop, const LastIteration &last) {
    int bytes = 0;
    bool has_more = false;
    visit_value(last.condition, [&](const Value &node) {
      has_more = has_more || is<Call>(node) || is<Extern>(node);
      if (const auto *read = as<Load>(node); read != nullptr && !read->subscripts().empty()) {
        bytes = std::max(bytes, static_cast<int>(read->type.scalar.bytes()));
      }
    });
    if (bytes == 0 || has_more || !mentions(last.condition, loop.id)) {
      return nullptr;
    }
    const int lanes = term_vector_bytes / bytes;
    const TermsInLanes vector(loop.id, lanes);
    const auto back = numbered_local("back");
    const ValuePtr extent = sub(loop.upper, loop.lower);
    const ValuePtr vectors = floor_div(add(extent, integer(lanes - 1)), integer(lanes));
    const ValuePtr first =
        maximum(sub(loop.upper, mul(add(back, integer(1)), integer(lanes))), loop.lower);
    const ValuePtr holds = vector(last.condition, first);
    if (!holds || is_short(loop, lanes)) {
      return nullptr;
    }
    const ScalarType count{TypeKind::Int, static_cast<std::uint8_t>(8 * bytes)};
    const auto goes_on = local(numbers_.next(), "goes_on", {Bool, 1});
    const auto at = numbered_local("at");
    const ValuePtr lane = select_value(holds, cast_value(ramp(integer(0), 1, lanes), count),
                                       broadcast(cast_value(integer(-1), count), lanes));
    std::vector<StmtPtr> set{declare_local(
        at->id, at->name, add(first, cast_value(reduce_lanes(Op::Max, lane), Int64)))};
    for (const LoopOutcome &each : last.set) {
      set.push_back(
          assign_local(each.local->id, each.local->name, with_variable(each.value, loop.id, at)));
    }
    // Several whole vectors at once, then one after the other.
    ValuePtr any;
    for (int v = 0; v < vectors_asked_at_once; ++v) {
      const ValuePtr behind = sub(loop.upper, mul(add(back, integer(v + 1)), integer(lanes)));
      const ValuePtr part = vector(last.condition, behind);
      any = any ? either(any, part) : part;
    }
    const ValuePtr whole = floor_div(extent, integer(lanes));
    const auto step = [&](const ValuePtr &found, int count, const ValuePtr &end) {
      const ValuePtr fits = binary_value(Op::Le, add(back, integer(count)), end);
      const StmtPtr next = block({assign_local(back->id, back->name, add(back, integer(count))),
                                  assign_local(goes_on->id, goes_on->name, fits)});
      return block(
          {assign_local(goes_on->id, goes_on->name, fits),
           while_loop(goes_on,
                      if_then(reduce_lanes(Op::Or, found),
                              assign_local(goes_on->id, goes_on->name, boolean(false)), next))});
    };
    const StmtPtr search =
        block({declare_local(back->id, back->name, integer(0)),
               declare_local(goes_on->id, goes_on->name, boolean(true)),
               step(any, vectors_asked_at_once, whole), step(holds, 1, vectors),
               if_then(binary_value(Op::Lt, back, vectors), block(std::move(set)))});
    return if_then(binary_value(Op::Ge, extent, integer(fewest_vectors * lanes)), search,
                   for_loop(loop, loop.lower, loop.upper, loop.body()));
  }

  Numbers numbers_;
};

} // namespace

StmtPtr find_last(const StmtPtr &body) { return LastFinder(body)(body); }

} // namespace tilewright
