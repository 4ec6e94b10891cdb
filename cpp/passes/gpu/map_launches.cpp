#include "passes/gpu/map_launches.h"

#include "hardware/gpu.h"
#include "loops/gpu_queries.h"
#include "loops/traverse.h"
#include "mapping/mma_shapes.h"
#include "passes/gpu/launch_grid.h"
#include "passes/gpu/mma_tiles.h"
#include "passes/gpu/private_memory.h"
#include "passes/gpu/thread_reductions.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace tilewright {

namespace {

/// A spread loop of unknown extent that is no longer than this is run through in full.
constexpr std::int64_t widest_box = 4096;
/// Copies of a spread loop's body that are made instead of a loop.
constexpr std::int64_t max_spread_copies = 16;
/// Blocks of a grid along y and z.

/// Whether more than one thread has something to do in it.
bool has_threads_or_barriers(const StmtPtr &statement) {
  bool found = false;
  visit_statements(statement, [&](const LoopStatement &inner) {
    found = found || is<Barrier>(inner) || combines_threads(inner) ||
            (is<For>(inner) && is_gpu(cast<For>(inner).loop));
  });
  return found;
}

class LaunchMapping {
public:
  LaunchMapping(Kernel &kernel, const Launch &launch, Numbers &numbers, const Ranges &known)
      : kernel_(kernel), threads_(launch.threads), numbers_(numbers), ranges_(known),
        grid_(launch.body(), known) {}

  StmtPtr run(const Launch &launch) {
    StmtPtr body = rewrite(launch.body());
    if (!has_threads_or_barriers(launch.body())) {
      body = by_thread_zero(body);
    }
    auto result = copy_of<Launch>(launch);
    result->children = {shrink_private_buffers(body, kernel_, ranges_, first_of_, numbers_)};
    result->grid = grid_.extents();
    return result;
  }

private:
  bool is_covered(size_t axis) const { return covered_[axis] || threads_[axis] == 1; }

  /// Done by the threads that are 0 along the axes that no loop around is over.
  StmtPtr by_thread_zero(const StmtPtr &body) const {
    ValuePtr all = boolean(true);
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!is_covered(axis)) {
        all = both(all, binary_value(Op::Eq, gpu_index(3 + static_cast<int>(axis)), integer(0)));
      }
    }
    return if_then(all, body);
  }

  StmtPtr rewrite(const StmtPtr &statement) {
    switch (statement->kind) {
    case StatementKind::Block:
      return rewrite_block(statement->children);
    case StatementKind::For:
      return rewrite_loop(statement);
    case StatementKind::While:
      if (has_threads_or_barriers(statement) && !covers_all()) {
        throw Error(ErrorKind::Internal, "threads would wait inside a while loop");
      }
      return again(statement);
    case StatementKind::If:
      return has_combined_updates(statement) && differs(cast<If>(statement).condition)
                 ? by_some_threads(cast<If>(statement))
                 : map_children(statement, [&](const StmtPtr &child) { return phase(child); });
    case StatementKind::AtomicUpdate:
      return combines_threads(*statement)
                 ? combine_threads(cast<AtomicUpdate>(statement),
                                   {threads_, covered_, active_, repeats_}, kernel_, numbers_)
                 : statement;
    case StatementKind::Barrier:
      if (covered_ != std::array<bool, 3>{}) {
        throw Error(ErrorKind::Internal, "a barrier stands inside of a loop over threads");
      }
      return statement;
    default:
      return map_children(statement, [&](const StmtPtr &child) { return phase(child); });
    }
  }

  StmtPtr rewrite_loop(const StmtPtr &statement) {
    const auto &loop = cast<For>(statement);
    switch (loop.loop) {
    case LoopKind::GpuBlock:
      return over_blocks(loop);
    case LoopKind::GpuThread:
      return over_threads(loop);
    case LoopKind::GpuSpread:
      return spread(loop);
    case LoopKind::GpuMma:
      return over_tile(loop);
    default:
      bound_variable(loop.id, loop.lower, loop.upper);
      require_uniform(loop);
      return again(statement);
    }
  }

  /// What may run again and again.
  StmtPtr again(const StmtPtr &loop) {
    const bool outside = std::exchange(repeats_, true);
    StmtPtr result = map_children(loop, [&](const StmtPtr &child) { return phase(child); });
    repeats_ = outside;
    return result;
  }

  // ---- where threads put terms together, all of the block come by ----

  /// Whether threads of a block may have different values of it.
  bool differs(const ValuePtr &value) const {
    bool found = false;
    visit_value(value, [&](const Value &part) {
      if (const auto *load = as<Load>(part)) {
        found = found || kernel_.buffers[static_cast<size_t>(load->buffer)].memory == "private";
      } else if (const auto *index = as<GpuIndex>(part)) {
        found = found || index->number >= 3;
      } else if (const auto *own = as<Variable>(part)) {
        found = found || differing_.contains(own->id);
      } else {
        found = found || is<Local>(part);
      }
    });
    return found;
  }

  void require_uniform(const For &loop) const {
    if (has_combined_updates(loop.body()) && (differs(loop.lower) || differs(loop.upper))) {
      throw Error(ErrorKind::Schedule,
                  "threads put terms of one element together inside of loop '" + loop.name +
                      "', which has another number of iterations in other threads: they would not "
                      "all come; bring that loop inside of those over the terms (reorder)");
    }
  }

  /// What stands under a condition that not all threads of the block have: they come by all the
  /// same, and do what is not for all of them under the condition.
  StmtPtr by_some_threads(const If &test) {
    const ValuePtr outside = active_;
    std::vector<StmtPtr> branches;
    for (size_t c = 0; c < test.children.size(); ++c) {
      active_ = both(outside, c == 0 ? test.condition : unary_value(Op::Not, test.condition));
      branches.push_back(phase(test.children[c]));
    }
    active_ = outside;
    return block(std::move(branches));
  }

  /// A statement in which no terms are put together: threads that are not active leave it out.
  StmtPtr by_active(const StmtPtr &statement) {
    const ValuePtr outside = std::exchange(active_, boolean(true));
    const StmtPtr made = rewrite(statement);
    active_ = outside;
    return if_then(active_, made);
  }

  bool covers_all() const { return is_covered(0) && is_covered(1) && is_covered(2); }

  /// A statement that is the only one in its place.
  StmtPtr phase(const StmtPtr &statement) {
    return rewrite_block(is<Block>(statement) ? statement->children : std::vector{statement});
  }

  bool fills_stages(const StmtPtr &statement) const {
    bool found = false;
    visit_statements(statement, [&](const LoopStatement &inner) {
      const auto *store = as<Store>(inner);
      found = found ||
              (store != nullptr && kernel_.buffers[static_cast<size_t>(store->buffer)].stages > 1);
    });
    return found;
  }

  static bool has_load(const ValuePtr &value) {
    bool found = false;
    visit_value(value, [&](const Value &part) { found = found || is<Load>(part); });
    return found;
  }

  static bool assigns(const StmtPtr &statement, std::int64_t local) {
    bool found = false;
    visit_statements(statement, [&](const LoopStatement &inner) {
      const auto *assignment = as<AssignLocal>(inner);
      found = found || (assignment != nullptr && assignment->id == local);
    });
    return found;
  }

  /// Children that no loop over threads is in are thread 0's; what they define, everybody's.
  StmtPtr rewrite_block(const std::vector<StmtPtr> &statements) {
    std::vector<StmtPtr> children;
    std::vector<StmtPtr> alone;
    bool alone_fills = false;
    const auto flush = [&] {
      if (!alone.empty()) {
        children.push_back(if_then(active_, by_thread_zero(block(std::exchange(alone, {})))));
      }
    };
    // Copies that are made ahead (staged_copies.h) stay apart from what they are made for.
    const auto leave_alone = [&](const StmtPtr &child) {
      const bool fills = fills_stages(child);
      if (fills != alone_fills) {
        flush();
      }
      alone_fills = fills;
      alone.push_back(child);
    };
    const bool any_together =
        std::any_of(statements.begin(), statements.end(), [&](const StmtPtr &child) {
          return has_threads_or_barriers(child) || fills_stages(child);
        });
    for (const StmtPtr &child : statements) {
      const auto *let = as<Let>(child);
      const auto *local = as<DeclareLocal>(child);
      const bool defines = any_together && (let != nullptr || local != nullptr);
      if (let != nullptr && differs(let->value)) {
        differing_.insert(let->id);
      }
      if (defines && local != nullptr && !covers_all() && has_load(local->value) &&
          assigns(block(statements), local->id)) {
        // Thread 0 adds to it: what it begins with is in memory that only that one may read.
        const ValueType type = local->value->type;
        flush();
        children.push_back(
            declare_local(local->id, local->name, broadcast(zero_of(type.scalar), type.lanes)));
        leave_alone(assign_local(local->id, local->name, local->value));
        continue;
      }
      if (defines) {
        require_no_load(cast<Definition>(child));
      }
      if ((covers_all() && !defines) || has_threads_or_barriers(child)) {
        flush();
        children.push_back(has_combined_updates(child) ? rewrite(child) : by_active(child));
      } else if (defines) {
        flush();
        children.push_back(child);
      } else {
        const auto outside = covered_;
        note_ranges(child);
        covered_ = outside;
        leave_alone(child);
      }
    }
    flush();
    return block(std::move(children));
  }

  /// What all threads define, they do where they are not active, too.
  void require_no_load(const Definition &definition) const {
    visit_value(definition.value, [&](const Value &value) {
      if (const auto *load = as<Load>(value); load != nullptr && !as_boolean(active_)) {
        throw Error(ErrorKind::Schedule,
                    "threads put terms of one element together inside of a loop over other "
                    "threads whose bounds are data (" +
                        load->name + "); map the loop outside to blocks instead");
      }
    });
  }

  /// Loops inside what is not rewritten: their ranges are known all the same.
  void note_ranges(const StmtPtr &statement) {
    visit_statements(statement, [&](const LoopStatement &inner) {
      if (const auto *loop = as<For>(inner)) {
        bound_variable(loop->id, loop->lower, loop->upper);
      }
    });
  }

  StmtPtr over_blocks(const For &loop) {
    bound_variable(loop.id, loop.lower, loop.upper);
    return grid_.at_block(loop, phase(loop.body()));
  }

  // ---- threads ----

  /// Ranges of a loop's variable.
  void bound_variable(std::int64_t id, const ValuePtr &lower, const ValuePtr &upper) {
    Interval interval{ranges_.of(lower).lower, ranges_.of(upper).upper};
    if (interval.upper) {
      --*interval.upper;
    }
    ranges_.variables[id] = interval;
  }

  StmtPtr over_threads(const For &loop) {
    const auto axis = static_cast<size_t>(loop.axis);
    const std::int64_t count = threads_[axis];
    const ValuePtr thread = gpu_index(3 + loop.axis);
    bound_variable(loop.id, loop.lower, loop.upper);
    const bool outside = std::exchange(covered_[axis], true);
    const bool combines = has_combined_updates(loop.body());
    // The thread's first iteration; numbers of threads are those of iterations modulo `count`.
    const bool from_zero = as_integer(loop.lower) == 0;
    const std::int64_t own = numbers_.next();
    const ValuePtr first = variable(own, loop.name);
    ranges_.variables[own] = {0, count - 1};
    first_of_[own] = loop.axis;
    const ValuePtr start =
        from_zero ? thread : add(loop.lower, floor_mod(sub(thread, loop.lower), integer(count)));
    if (!from_zero) {
      ranges_.variables[own] = ranges_.variables[loop.id];
      first_of_[own] = -1; // not the thread's number
    }
    differing_.insert(own);
    const ValuePtr extent = sub(loop.upper, loop.lower);
    const Interval iterations = ranges_.of(extent);
    const ValuePtr number = variable(loop.id, loop.name);
    StmtPtr result;
    if (combines) {
      // A loop has no more iterations than there are threads (GpuKernels).
      const ValuePtr around = active_;
      if (!(iterations.lower && *iterations.lower == count)) {
        active_ = both(active_, binary_value(Op::Lt, first, loop.upper));
      }
      result = phase(copy_with(loop.body(), {{loop.id, first}}, numbers_));
      active_ = around;
    } else if (iterations.upper && *iterations.upper <= count) {
      const StmtPtr body = copy_with(loop.body(), {{loop.id, first}}, numbers_);
      result = phase(body);
      if (!(iterations.lower && *iterations.lower == count)) {
        result = if_then(binary_value(Op::Lt, first, loop.upper), result);
      }
    } else {
      const std::int64_t round = numbers_.next();
      const ValuePtr rounds =
          floor_div(add(sub(loop.upper, first), integer(count - 1)), integer(count));
      Interval of_round{0, std::nullopt};
      if (iterations.upper) {
        of_round.upper = (*iterations.upper + count - 1) / count - 1;
      }
      ranges_.variables[round] = of_round;
      const ValuePtr value = add(first, mul(integer(count), variable(round, loop.name + "_round")));
      const StmtPtr body = copy_with(loop.body(), {{loop.id, value}}, numbers_);
      result = for_loop(round, loop.name + "_round", integer(0), rounds, LoopKind::Serial, 0,
                        phase(body));
    }
    covered_[axis] = outside;
    return block({let(own, loop.name, start), result});
  }

  // ---- tiles of warps ----

  /// A loop over rows or columns of a tile: those of the thread's sums, two of each. What a product
  /// does is lowered in one piece.
  StmtPtr over_tile(const For &loop) {
    if (is_product_tile(loop)) {
      // Loops of one iteration over blocks and threads may stand inside: that is their place where
      // isl leaves them out.
      std::vector<const For *> inside;
      StmtPtr outside = without_mapped_loops(copy_of<For>(loop), inside);
      if (!inside.empty()) {
        for (const For *mapped : inside) {
          outside = for_loop(*mapped, mapped->lower, mapped->upper, outside);
        }
        return rewrite(outside);
      }
    }
    const bool is_row = loop.axis == 0;
    if (threads_[0] != warp_size || (loop.axis > 1)) {
      throw Error(ErrorKind::Internal, "a tile of a warp has no warp or no rows");
    }
    const ValuePtr thread = gpu_index(3);
    const std::int64_t own = numbers_.next();
    const auto number = variable(own, is_row ? "lane_row" : "lane_column");
    const ValuePtr value = is_row ? floor_div(thread, integer(lanes_of_row))
                                  : floor_mod(thread, integer(lanes_of_row));
    place_in_warp(own, is_row);
    const bool outside = std::exchange(covered_[0], true);
    std::vector<StmtPtr> result = {let(own, number->name, value)};
    if (is_product_tile(loop)) {
      const std::int64_t other = numbers_.next();
      place_in_warp(other, false);
      const auto column = variable(other, "lane_column");
      result.push_back(let(other, column->name, floor_mod(thread, integer(lanes_of_row))));
      result.push_back(
          by_thread_zero(lower_product_tile(loop, {number, column}, kernel_, ranges_, numbers_)));
    } else {
      for (std::int64_t copy = 0; copy < 2; ++copy) {
        const ValuePtr here = is_row ? add(number, integer(copy * mma_rows / 2))
                                     : add(mul(integer(2), number), integer(copy));
        const Interval range = ranges_.of(here);
        const Interval before = ranges_.of(sub(here, loop.lower));
        const Interval after = ranges_.of(sub(loop.upper, here));
        ValuePtr holds = boolean(true);
        if (!before.lower || *before.lower < 0) {
          holds = both(holds, binary_value(Op::Ge, here, loop.lower));
        }
        if (!after.lower || *after.lower < 1) {
          holds = both(holds, binary_value(Op::Lt, here, loop.upper));
        }
        ranges_.variables[loop.id] = range;
        const StmtPtr body = copy_with(loop.body(), {{loop.id, here}}, numbers_);
        if (has_combined_updates(body)) {
          const ValuePtr around = active_;
          active_ = both(active_, holds);
          result.push_back(phase(body));
          active_ = around;
        } else {
          result.push_back(if_then(holds, phase(body)));
        }
      }
    }
    covered_[0] = outside;
    return block(std::move(result));
  }

  static StmtPtr without_mapped_loops(const StmtPtr &statement, std::vector<const For *> &found) {
    const auto *loop = as<For>(statement);
    if (loop != nullptr &&
        (loop->loop == LoopKind::GpuBlock || loop->loop == LoopKind::GpuThread)) {
      found.push_back(loop);
      return without_mapped_loops(loop->body(), found);
    }
    return map_children(statement,
                        [&](const StmtPtr &child) { return without_mapped_loops(child, found); });
  }

  void place_in_warp(std::int64_t variable, bool is_row) {
    constexpr int row_axis = 3; // beside those of threads
    ranges_.variables[variable] = {0, (is_row ? warp_size / lanes_of_row : lanes_of_row) - 1};
    first_of_[variable] = is_row ? row_axis : row_axis + 1;
    differing_.insert(variable);
  }

  /// `outermost` and the loops directly inside each other that are dealt out with it.
  std::vector<const For *> spread_nest(const For &outermost) {
    std::vector<const For *> loops = {&outermost};
    const auto depends = [&](const For &inner) {
      bool found = false;
      for (const ValuePtr &bound : {inner.lower, inner.upper}) {
        visit_value(bound, [&](const Value &value) {
          found = found || std::any_of(loops.begin(), loops.end(), [&](const For *loop) {
                    return is_variable(value, loop->id);
                  });
        });
      }
      return found;
    };
    bound_variable(outermost.id, outermost.lower, outermost.upper);
    const auto *inner = as_loop(outermost.body(), LoopKind::GpuSpread);
    while (inner != nullptr && (!depends(*inner) || longest_box(extent_of(*inner)))) {
      loops.push_back(inner);
      bound_variable(inner->id, inner->lower, inner->upper);
      inner = as_loop(inner->body(), LoopKind::GpuSpread);
    }
    return loops;
  }

  /// Threads that take part in something, and the number of this one among them.
  struct Sharers {
    std::int64_t count = 1;
    ValuePtr thread = integer(0);
  };

  /// The threads that no loop around is over: inside of another spread loop, whose iterations say
  /// how many there are, each thread runs through all of its own.
  Sharers free_threads() const {
    Sharers sharers;
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!is_covered(axis)) {
        const ValuePtr along = gpu_index(3 + static_cast<int>(axis));
        sharers.thread = add(sharers.thread, mul(integer(sharers.count), along));
        sharers.count *= threads_[axis];
      }
    }
    return sharers;
  }

  /// Loops directly inside each other, dealt out in the order of their iterations to the threads in
  /// the order of their numbers: neighbours read what lies side by side.
  StmtPtr spread(const For &outermost) {
    const std::vector<const For *> loops = spread_nest(outermost);
    const Sharers sharers = free_threads();
    // The iterations, or a constant number of them of which some are left out: then the code that
    // finds one's place has no division by what is not known.
    std::vector<ValuePtr> extents;
    std::vector<bool> is_box;
    ValuePtr total = integer(1);
    for (const For *loop : loops) {
      const ValuePtr extent = extent_of(*loop);
      const auto box = as_integer(extent) ? std::nullopt : longest_box(extent);
      extents.push_back(box ? integer(*box) : maximum(extent, integer(0)));
      is_box.push_back(box.has_value());
      total = mul(total, extents.back());
    }
    const std::int64_t own = numbers_.next();
    const auto place = variable(numbers_.next(), outermost.name + "_place");
    std::vector<ValuePtr> here(loops.size());
    ValuePtr rest = place;
    for (size_t d = loops.size(); d-- > 0;) {
      here[d] = d == 0 ? rest : floor_mod(rest, extents[d]);
      rest = d == 0 ? rest : floor_div(rest, extents[d]);
    }
    std::vector<StmtPtr> inside;
    ValuePtr holds = boolean(true);
    for (size_t d = 0; d < loops.size(); ++d) { // bounds depend on loops outside
      const For &loop = *loops[d];
      inside.push_back(let(loop.id, loop.name, add(loop.lower, here[d])));
      if (is_box[d]) {
        holds = both(holds, binary_value(Op::Lt, variable(loop.id, loop.name), loop.upper));
      }
    }
    const auto outside = std::exchange(covered_, {true, true, true});
    inside.push_back(if_then(holds, phase(loops.back()->body())));
    covered_ = outside;
    return block(
        {let(own, "thread", sharers.thread), in_rounds(block(std::move(inside)), *place, total,
                                                       variable(own, "thread"), sharers.count)});
  }

  /// `one`, which is what is done at `place`, for every `count`-th place below `total` from `first`
  /// on: in copies, or in a loop where there are many or unknown many.
  StmtPtr in_rounds(const StmtPtr &one, const Variable &place, const ValuePtr &total,
                    const ValuePtr &first, std::int64_t count) {
    const auto known_total = as_integer(total);
    const std::int64_t rounds = known_total ? (*known_total + count - 1) / count : 0;
    if (!known_total || rounds > max_spread_copies) {
      const std::int64_t round = numbers_.next();
      const ValuePtr shares = floor_div(add(sub(total, first), integer(count - 1)), integer(count));
      const ValuePtr here = add(first, mul(integer(count), variable(round, "round")));
      return for_loop(round, "round", integer(0), shares, LoopKind::Serial, 0,
                      block({let(place.id, place.name, here), one}));
    }
    std::vector<StmtPtr> copies;
    for (std::int64_t round = 0; round < rounds; ++round) {
      const std::int64_t here = numbers_.next();
      const ValuePtr own_place = variable(here, place.name);
      StmtPtr copy = copy_with(one, {{place.id, own_place}}, numbers_);
      if ((round + 1) * count > *known_total) {
        copy = if_then(binary_value(Op::Lt, own_place, total), copy);
      }
      copies.push_back(let(here, place.name, add(first, integer(round * count))));
      copies.push_back(copy);
    }
    return block(std::move(copies));
  }

  static ValuePtr extent_of(const For &loop) {
    ValuePtr extent = sub(loop.upper, loop.lower);
    if (const auto sum = is_index(extent) ? linear_of(extent) : std::nullopt) {
      extent = value_of(*sum); // the same in all tiles
    }
    return extent;
  }

  /// A constant that no extent is larger than, where there is one that is not much larger.
  std::optional<std::int64_t> longest_box(const ValuePtr &extent) const {
    const Interval known = ranges_.of(extent);
    if (!known.upper || *known.upper > widest_box) {
      return std::nullopt;
    }
    return std::max<std::int64_t>(*known.upper, 0);
  }

  Kernel &kernel_;
  std::array<std::int64_t, 3> threads_;
  Numbers &numbers_;
  Ranges ranges_;
  LaunchGrid grid_;
  std::array<bool, 3> covered_{};
  ValuePtr active_ = boolean(true);  ///< threads that have the iterations of the loops around
  bool repeats_ = false;             ///< a loop is around that runs one iteration after the other
  std::set<std::int64_t> differing_; ///< variables that differ between threads
  /// Variables that are a thread's number: the axis, or 3 and 4 for the place in its warp.
  std::map<std::int64_t, int> first_of_;
};

} // namespace

void map_launches(Kernel &kernel, const Ranges &known) {
  Numbers numbers(kernel.body);
  const std::function<StmtPtr(const StmtPtr &)> walk = [&](const StmtPtr &statement) -> StmtPtr {
    if (const auto *launch = as<Launch>(statement)) {
      return LaunchMapping(kernel, *launch, numbers, known).run(*launch);
    }
    return map_children(statement, walk);
  };
  kernel.body = walk(kernel.body);
}

} // namespace tilewright
