#include "planning/auto/inner_loops.h"

#include "planning/computation_shape.h"
#include "planning/picked_updates.h"

#include <algorithm>

namespace tilewright {

namespace {

/// How many outermost loops of a computation others share.
size_t shared_loops(const Mapping &mapping, const std::string &computation) {
  int shared = 0;
  for (const Placement &placement : mapping.state().placements) {
    if (placement.computation == computation || placement.other == computation) {
      shared = std::max(shared, placement.shared);
    }
  }
  return static_cast<size_t>(shared);
}

/// Of a subscript: how it moves with an iterator, if that can be seen.
Step step_of(const ExprPtr &subscript, const std::string &iterator, bool is_last) {
  bool moves = false;
  bool is_sum = true;
  visit(subscript, [&](const ExprPtr &node) {
    moves = moves || (node->kind == ExprKind::Iterator && node->name == iterator);
    is_sum = is_sum && (node->operands.empty() || node->op == Op::Add);
  });
  return !moves ? Step::None : is_last && is_sum ? Step::Unit : Step::Other;
}

/// Is there a sum within the values, and does everything that sums read lie side by side along the
/// iterator, or is the same?
bool sums_lie_side_by_side(const Computation &computation, const std::string &iterator) {
  bool has_sum = false;
  bool lies = true;
  for (const Piece &piece : computation.pieces) {
    visit(piece.value, [&](const ExprPtr &sum) {
      if (sum->kind != ExprKind::Reduce) {
        return;
      }
      has_sum = true;
      visit(sum->operands.front(), [&](const ExprPtr &read) {
        for (size_t d = 0; read->kind == ExprKind::Access && d < read->operands.size(); ++d) {
          lies = lies && step_of(read->operands[d], iterator, d + 1 == read->operands.size()) !=
                             Step::Other;
        }
      });
    });
  }
  return has_sum && lies;
}

/// The commands that make the last iterator of the results a vector loop, or nothing.
std::optional<std::vector<Command>> vector_commands(const Mapping &mapping,
                                                    const std::string &computation,
                                                    const Shape &shape, size_t shared) {
  const std::vector<LoopDimension> &loops = mapping.time_space(computation).dimensions;
  if (shape.rank() == 0 || shape.states() > 0 || shape.is_scattered()) {
    return std::nullopt;
  }
  const size_t column = shape.rank() - 1;
  const std::string inner = shape.name(column);
  const bool lies = shape.simple()
                        ? shape.all_contiguous(column)
                        : sums_lie_side_by_side(**mapping.function().find(computation), inner);
  const auto position = std::find_if(loops.begin(), loops.end(),
                                     [&](const auto &loop) { return loop.name == inner; });
  if (!lies || position == loops.end() || static_cast<size_t>(position - loops.begin()) < shared ||
      shape.extent(column).value_or(shape.lanes()) < shape.lanes()) {
    return std::nullopt;
  }
  std::vector<Command> commands;
  if (position + 1 != loops.end()) {
    std::vector<Argument> order;
    for (auto loop = position + 1; loop != loops.end(); ++loop) {
      order.emplace_back(loop->name);
    }
    order.emplace_back(inner);
    commands.push_back({computation, "reorder", order, {}});
  }
  commands.push_back({computation, "vectorize", {inner, shape.lanes()}, {}});
  return commands;
}

/// The commands that put the terms of a sum into lanes, of several results at a time; nothing where
/// they do not lie side by side. Whether their order is free is for the legality to say.
std::optional<std::vector<Command>> term_commands(const Mapping &mapping,
                                                  const std::string &computation,
                                                  const Shape &shape, size_t shared) {
  constexpr std::int64_t results = 8; // as many chains of sums hide the latency of one
  const std::vector<LoopDimension> &loops = mapping.time_space(computation).dimensions;
  if (!shape.simple() || shape.states() > 0 || shape.is_scattered() || shape.reduced() != 1 ||
      loops.size() != shape.rank() + 1 || loops.size() <= shared ||
      !shape.all_contiguous(shape.rank())) {
    return std::nullopt;
  }
  const std::string term = loops.back().name;
  std::vector<Command> commands{{computation, "split", {term, shape.lanes()}, {}}};
  if (loops.size() >= shared + 2) {
    const std::string result = loops[loops.size() - 2].name;
    commands.push_back({computation, "split", {result, results}, {}});
    commands.push_back(
        {computation, "reorder", {result + "0", term + "0", result + "1", term + "1"}, {}});
    commands.push_back({computation, "unroll", {result + "1", results}, {}});
  }
  commands.push_back({computation, "vectorize", {term + "1", shape.lanes()}, {}});
  return commands;
}

} // namespace

bool has_loop(const Mapping &mapping, const std::string &computation, Tag tag) {
  const std::vector<LoopDimension> &loops = mapping.time_space(computation).dimensions;
  return std::any_of(loops.begin(), loops.end(),
                     [&](const LoopDimension &loop) { return loop.tag.tag == tag; });
}

LegalMapping with_inner_loops(const LegalMapping &before, const std::vector<std::string> &group,
                              Decisions &decisions) {
  LegalMapping now = before;
  for (const std::string &name : group) {
    const Shape shape(**now.mapping.function().find(name));
    const size_t shared = shared_loops(now.mapping, name);
    if (shape.has_picked()) {
      if (auto updated = after_commands(now, picked_updates(now.mapping, name, shape, shared))) {
        now = std::move(*updated);
        decisions.push_back({name, "goes over its terms once, and updates what data pick"});
      }
      continue;
    }
    const auto commands = vector_commands(now.mapping, name, shape, shared);
    if (auto found = commands ? after_commands(now, *commands) : std::nullopt) {
      now = std::move(*found);
      decisions.push_back({name, shape.name(shape.rank() - 1) + " is a vector loop of " +
                                     std::to_string(shape.lanes()) +
                                     " iterations inside of the loops of the recurrence"});
    } else if (const auto terms = term_commands(now.mapping, name, shape, shared)) {
      if (auto summed = after_commands(now, *terms)) {
        now = std::move(*summed);
        decisions.push_back({name, "adds " + std::to_string(shape.lanes()) +
                                       " terms at a time, of several results, inside of the loops "
                                       "of the recurrence"});
      }
    }
    const std::vector<LoopDimension> &loops = now.mapping.time_space(name).dimensions;
    const bool has_inner = loops.size() > shared + (shape.is_scattered() ? 2 : 1);
    if (!has_inner || loops[shared].tag.tag != Tag::Sequential) {
      continue;
    }
    const std::string loop = loops[shared].name;
    if (auto found = after_commands(now, {{name, "parallelize", {loop}, {}}})) {
      now = std::move(*found);
      decisions.push_back({name, loop + " runs in parallel in each iteration of the recurrence"});
    }
  }
  return now;
}

LegalMapping with_rows_of_sums(const LegalMapping &before, const std::string &computation,
                               Decisions &decisions) {
  const Shape shape(**before.mapping.function().find(computation));
  if (shape.reduced() == 0 || shape.has_picked() ||
      has_loop(before.mapping, computation, Tag::Vector)) {
    return before;
  }
  const auto commands = vector_commands(before.mapping, computation, shape, 0);
  auto found = commands ? after_commands(before, *commands) : std::nullopt;
  if (!found) {
    return before;
  }
  decisions.push_back(
      {computation, "the results along " + shape.name(shape.rank() - 1) +
                        " are summed side by side in vectors, since what they read lies side by "
                        "side, and the terms do not"});
  return *found;
}

} // namespace tilewright
