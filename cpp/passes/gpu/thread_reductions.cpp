#include "passes/gpu/thread_reductions.h"

#include "loops/gpu_queries.h"
#include "loops/loop_bounds.h"
#include "loops/traverse.h"
#include "mapping/mma_shapes.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <set>

namespace tilewright {

namespace {

/// Copies that are made instead of a loop over partial results.
constexpr std::int64_t max_rounds = 8;

bool is_power_of_two(std::int64_t value) { return value > 0 && (value & (value - 1)) == 0; }

std::int64_t power_of_two_from(std::int64_t value) {
  std::int64_t power = 1;
  while (power < value) {
    power *= 2;
  }
  return power;
}

// ---- gathering terms ----

/// One element that updates in a loop add to.
struct Gathered {
  const AtomicUpdate *update;       ///< the first of them
  std::vector<const For *> holders; ///< loops over other threads around it, inside
  std::shared_ptr<const Local> sum;

  bool takes(const AtomicUpdate &other) const {
    return combines_threads(other) && other.buffer == update->buffer && other.op == update->op &&
           other.combines == update->combines && other.is_atomic == update->is_atomic &&
           std::equal(other.subscripts.begin(), other.subscripts.end(), update->subscripts.begin(),
                      update->subscripts.end(), same_value);
  }
};

/// What is in one loop whose updates may leave it.
class LoopUpdates {
public:
  explicit LoopUpdates(const For &loop) : loop_(loop) {
    inside_.insert(loop.id);
    visit_statements(loop.body(), [&](const LoopStatement &inner) { note(inner); });
    std::vector<const For *> holders;
    collect(loop.body(), holders);
  }

  std::vector<Gathered> gathered() const { return gathered_; }

  /// Whether any of these updates runs, as far as it can be said outside of the loop; true where it
  /// may.
  ValuePtr runs(const Gathered &element) const {
    LoopBounds bounds;
    const ValuePtr in_body = runs(loop_, element, bounds);
    return in_body ? in_body : boolean(true);
  }

private:
  void note(const LoopStatement &inner) {
    if (const std::int64_t *variable = defined_variable(inner)) {
      inside_.insert(*variable);
    } else if (const auto *store = as<Store>(inner)) {
      touched_.insert(store->buffer);
    } else if (const auto *allocate = as<Allocate>(inner)) {
      touched_.insert(allocate->buffer);
    } else if (const auto *update = as<AtomicUpdate>(inner)) {
      const auto [known, is_new] = operations_.try_emplace(update->buffer, update->op);
      if (!combines_threads(inner) || (!is_new && known->second != update->op)) {
        touched_.insert(update->buffer);
      }
    }
    visit_values(inner, [&](const Value &value) {
      if (const auto *load = as<Load>(value)) {
        touched_.insert(load->buffer);
      }
    });
  }

  /// The same in all iterations of the loop; loops over other threads (`holders`) may be what it
  /// depends on.
  bool is_invariant(const ValuePtr &root, const std::vector<const For *> &holders) const {
    bool invariant = true;
    visit_value(root, [&](const Value &value) {
      const auto *own = as<Variable>(value);
      const bool is_own = own != nullptr && inside_.contains(own->id) &&
                          std::none_of(holders.begin(), holders.end(),
                                       [&](const For *held) { return held->id == own->id; });
      invariant = invariant && !is_own && !is<Load>(value) && !is<Local>(value);
    });
    return invariant;
  }

  void collect(const StmtPtr &statement, std::vector<const For *> &holders) {
    if (combines_threads(*statement)) {
      consider(cast<AtomicUpdate>(statement), holders);
      return;
    }
    const auto *thread = as_loop(statement, LoopKind::GpuThread);
    if (thread != nullptr) {
      holders.push_back(thread);
    }
    for (const StmtPtr &child : statement->children) {
      collect(child, holders);
    }
    if (thread != nullptr) {
      holders.pop_back();
    }
  }

  void consider(const AtomicUpdate &update, const std::vector<const For *> &around) {
    const auto is_combined = [&](const For &loop) {
      return loop.loop == LoopKind::GpuThread && update.combines.at(static_cast<size_t>(loop.axis));
    };
    const bool is_outermost = loop_.loop == LoopKind::Serial || is_combined(loop_);
    std::vector<const For *> holders;
    for (const For *loop : around) {
      if (!is_combined(*loop)) {
        holders.push_back(loop);
      }
    }
    bool leaves = is_outermost && !touched_.contains(update.buffer);
    for (size_t h = 0; h < holders.size(); ++h) {
      const std::vector<const For *> outer(holders.begin(),
                                           holders.begin() + static_cast<std::ptrdiff_t>(h));
      leaves = leaves && is_invariant(holders[h]->lower, outer) &&
               is_invariant(holders[h]->upper, outer);
    }
    for (const ValuePtr &subscript : update.subscripts) {
      leaves = leaves && is_invariant(subscript, holders);
    }
    if (leaves && std::none_of(gathered_.begin(), gathered_.end(),
                               [&](const Gathered &known) { return known.takes(update); })) {
      gathered_.push_back({&update, holders, nullptr});
    }
  }

  /// Whether a condition holds in any iteration, as far as it can be said outside of the loop.
  ValuePtr may_hold(const ValuePtr &condition, const Gathered &element,
                    const LoopBounds &bounds) const {
    if (is_invariant(condition, element.holders)) {
      return condition;
    }
    const auto *test = as<Binary>(condition);
    if (test == nullptr) {
      return boolean(true);
    }
    const ValuePtr &a = test->left();
    const ValuePtr &b = test->right();
    const auto is_positive = [&](const ValuePtr &difference) {
      const ValuePtr largest = bounds.bound(difference, true);
      return largest && is_invariant(largest, element.holders)
                 ? binary_value(Op::Gt, largest, integer(0))
                 : boolean(true);
    };
    switch (test->op) {
    case Op::And:
      return both(may_hold(a, element, bounds), may_hold(b, element, bounds));
    case Op::Or:
      return either(may_hold(a, element, bounds), may_hold(b, element, bounds));
    case Op::Lt:
      return is_int64(a) ? is_positive(sub(b, a)) : boolean(true);
    case Op::Gt:
      return is_int64(a) ? is_positive(sub(a, b)) : boolean(true);
    case Op::Le:
      return is_int64(a) ? is_positive(add(sub(b, a), integer(1))) : boolean(true);
    case Op::Ge:
      return is_int64(a) ? is_positive(add(sub(a, b), integer(1))) : boolean(true);
    default:
      return boolean(true);
    }
  }

  /// Null where none of these updates is in it.
  ValuePtr runs(const LoopStatement &statement, const Gathered &element, LoopBounds &bounds) const {
    if (const auto *update = as<AtomicUpdate>(statement)) {
      return element.takes(*update) ? boolean(true) : nullptr;
    }
    const auto *test = as<If>(statement);
    ValuePtr condition = boolean(true);
    if (const auto *loop = as<For>(statement)) {
      condition = may_hold(binary_value(Op::Lt, loop->lower, loop->upper), element, bounds);
      const ValuePtr first = bounds.bound(loop->lower, false);
      const ValuePtr end = bounds.bound(loop->upper, true);
      const bool is_holder =
          std::find(element.holders.begin(), element.holders.end(), loop) != element.holders.end();
      if (is_holder) {
        condition = boolean(true); // it stands around the update outside, too
      } else if (first && end) {
        bounds.define(loop->id, first, sub(end, integer(1)));
      }
    } else if (test != nullptr) {
      condition = may_hold(test->condition, element, bounds);
    }
    ValuePtr any;
    for (size_t c = 0; c < statement.children.size(); ++c) {
      ValuePtr inner = runs(*statement.children[c], element, bounds);
      if (!inner) {
        continue;
      }
      const bool otherwise = test != nullptr && c == 1;
      if (!otherwise) {
        inner = both(condition, inner);
      } else if (is_invariant(test->condition, element.holders)) {
        inner = both(unary_value(Op::Not, test->condition), inner);
      }
      any = any ? either(any, inner) : inner;
    }
    return any;
  }

  const For &loop_;
  std::set<std::int64_t> inside_;         ///< variables that are defined in it
  std::set<std::int64_t> touched_;        ///< buffers that others than such updates touch
  std::map<std::int64_t, Op> operations_; ///< of the updates of each buffer
  std::vector<Gathered> gathered_;
};

class Gathering {
public:
  explicit Gathering(const StmtPtr &root) : numbers_(root) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *loop = as<For>(statement);
    const bool gathers =
        loop != nullptr && (loop->loop == LoopKind::Serial || loop->loop == LoopKind::GpuThread);
    if (gathers && has_combined_updates(statement)) {
      const LoopUpdates updates(*loop);
      std::vector<Gathered> elements = updates.gathered();
      if (!elements.empty()) {
        return gather(statement, updates, elements);
      }
    }
    return map_children(statement, *this);
  }

private:
  StmtPtr gather(const StmtPtr &loop, const LoopUpdates &updates, std::vector<Gathered> &elements) {
    std::vector<StmtPtr> all;
    for (Gathered &element : elements) {
      const AtomicUpdate &update = *element.update;
      const ScalarType type = accumulator_type(update.value->type.scalar);
      element.sum = local(numbers_.next(), "sum", {type, 1});
      all.push_back(declare_local(element.sum->id, "sum", identity_of(update.op, type)));
    }
    const std::function<StmtPtr(const StmtPtr &)> rewrite =
        [&](const StmtPtr &statement) -> StmtPtr {
      const auto *update = as<AtomicUpdate>(statement);
      const auto taken =
          std::find_if(elements.begin(), elements.end(), [&](const Gathered &element) {
            return update != nullptr && element.takes(*update);
          });
      if (taken == elements.end()) {
        return map_children(statement, rewrite);
      }
      const ValuePtr term = cast_value(update->value, taken->sum->type.scalar);
      return assign_local(taken->sum->id, "sum", binary_value(update->op, taken->sum, term),
                          update->op);
    };
    all.push_back(map_children(rewrite(loop), *this));
    for (const Gathered &element : elements) {
      auto update = copy_of<AtomicUpdate>(*element.update);
      update->value = element.sum;
      StmtPtr last = if_then(updates.runs(element), update);
      for (size_t h = element.holders.size(); h-- > 0;) {
        const For &held = *element.holders[h];
        const std::int64_t own = numbers_.next();
        last = copy_with(last, {{held.id, variable(own, held.name)}}, numbers_);
        auto around = copy_of<For>(held);
        around->id = own;
        around->children = {last};
        last = around;
      }
      all.push_back(last);
    }
    return block(std::move(all));
  }

  Numbers numbers_;
};

/// Every update has left its loops over threads.
void require_gathered(const StmtPtr &statement, const Kernel &kernel,
                      std::vector<const For *> &around) {
  if (combines_threads(*statement)) {
    const auto &update = cast<AtomicUpdate>(statement);
    for (const For *loop : around) {
      const auto axis = static_cast<size_t>(loop->axis);
      if (loop->loop != LoopKind::GpuThread || !update.combines.at(axis)) {
        continue;
      }
      const KernelBuffer &buffer = kernel.buffers.at(static_cast<size_t>(update.buffer));
      throw Error(ErrorKind::Schedule,
                  "the threads of loop '" + loop->name + "' have terms of one element of '" +
                      buffer.name + "', " +
                      print_element(kernel, update.buffer, update.subscripts) +
                      ", but cannot put them together after that loop: which element it is, or "
                      "what else touches it, changes inside; bring the loops that tell its "
                      "elements apart outside of '" +
                      loop->name + "' (reorder), or unroll them",
                  buffer.where);
    }
    return;
  }
  const auto *loop = as<For>(statement);
  if (loop != nullptr) {
    around.push_back(loop);
  }
  for (const StmtPtr &child : statement->children) {
    require_gathered(child, kernel, around);
  }
  if (loop != nullptr) {
    around.pop_back();
  }
}

// ---- putting them together ----

/// The threads that have terms of one element: number `low + stride * (rank + size * high)` of the
/// block for rank 0 to size - 1, where they make one run; else they are apart.
struct ThreadGroups {
  std::int64_t size = 1;
  std::int64_t stride = 0; ///< 0: no one run
  std::int64_t count = 1;  ///< of such groups
  ValuePtr rank;           ///< of the thread in its group
  ValuePtr number;         ///< of its group
};

ThreadGroups groups_of(const std::array<bool, 3> &combines,
                       const std::array<std::int64_t, 3> &threads) {
  ThreadGroups groups;
  groups.rank = integer(0);
  groups.number = integer(0);
  bool is_run = true;
  bool ended = false;
  std::int64_t before = 1; ///< threads along the axes before
  for (size_t axis = 0; axis < 3; ++axis) {
    if (threads[axis] == 1) {
      continue;
    }
    const ValuePtr thread = gpu_index(3 + static_cast<int>(axis));
    if (combines[axis]) {
      is_run = is_run && !ended;
      groups.stride = groups.size == 1 ? before : groups.stride;
      groups.rank = add(groups.rank, mul(integer(groups.size), thread));
      groups.size *= threads[axis];
    } else {
      ended = ended || groups.size > 1;
      groups.number = add(groups.number, mul(integer(groups.count), thread));
      groups.count *= threads[axis];
    }
    before *= threads[axis];
  }
  groups.stride = is_run ? groups.stride : 0;
  return groups;
}

class Combining {
public:
  Combining(const AtomicUpdate &update, const ThreadsAround &around, Kernel &kernel,
            Numbers &numbers)
      : update_(update), around_(around), kernel_(kernel), numbers_(numbers),
        groups_(groups_of(update.combines, around.threads)),
        sum_(local(numbers.next(), "sum", update.value->type)) {}

  StmtPtr operator()() {
    // So many neighbours of a group are in one warp, in the same places of it.
    const std::int64_t lanes = is_power_of_two(groups_.stride) && groups_.stride < warp_size
                                   ? std::gcd(groups_.size, warp_size / groups_.stride)
                                   : 1;
    std::vector<StmtPtr> all = {declare_local(sum_->id, "sum", update_.value)};
    exchange(lanes, all);
    if (groups_.size == lanes) {
      all.push_back(by_first());
      return block(std::move(all));
    }
    return between_warps(lanes, std::move(all));
  }

private:
  StmtPtr add_to_sum(const ValuePtr &value) const {
    return assign_local(sum_->id, "sum", binary_value(update_.op, sum_, value), update_.op);
  }

  /// Afterwards each of `lanes` neighbours has what all of them had together.
  void exchange(std::int64_t lanes, std::vector<StmtPtr> &into) const {
    for (std::int64_t distance = lanes / 2; distance > 0; distance /= 2) {
      into.push_back(add_to_sum(shuffle_value(sum_, distance * groups_.stride)));
    }
  }

  /// The partial results of each group through shared memory to its first threads.
  StmtPtr between_warps(std::int64_t lanes, std::vector<StmtPtr> all) {
    const std::int64_t partials = groups_.size / lanes;
    const std::int64_t buffer = add_buffer(partials * groups_.count);
    const std::string name = kernel_.buffers.back().name;
    const std::int64_t rank_number = numbers_.next();
    const std::int64_t group_number = numbers_.next();
    const ValuePtr rank = variable(rank_number, "rank");
    const ValuePtr group = variable(group_number, "group");
    const auto place = [&](const ValuePtr &partial) {
      return std::vector<ValuePtr>{add(mul(integer(groups_.count), partial), group)};
    };
    all.push_back(let(rank_number, "rank", groups_.rank));
    all.push_back(let(group_number, "group", groups_.number));
    all.push_back(if_then(binary_value(Op::Eq, floor_mod(rank, integer(lanes)), integer(0)),
                          store(buffer, name, place(floor_div(rank, integer(lanes))), sum_)));
    all.push_back(barrier());
    const std::int64_t readers = std::min(lanes, power_of_two_from(partials));
    std::vector<StmtPtr> rest = {
        assign_local(sum_->id, "sum", identity_of(update_.op, sum_->type.scalar))};
    rest.push_back(if_then(binary_value(Op::Lt, rank, integer(readers)),
                           read_partials(buffer, name, rank, partials, readers, place)));
    exchange(readers, rest);
    rest.push_back(by_first());
    // A branch that whole warps take or leave.
    const bool is_warp = groups_.stride == 1 && lanes == warp_size;
    const StmtPtr last = block(std::move(rest));
    all.push_back(is_warp ? if_then(binary_value(Op::Lt, rank, integer(warp_size)), last) : last);
    if (around_.repeats) {
      all.push_back(barrier()); // the next time overwrites the partial results
    }
    return allocate(buffer, name, block(std::move(all)));
  }

  template <class Place>
  StmtPtr read_partials(std::int64_t buffer, const std::string &name, const ValuePtr &rank,
                        std::int64_t partials, std::int64_t readers, const Place &place) {
    const std::int64_t rounds = (partials + readers - 1) / readers;
    const auto read = [&](const ValuePtr &partial) {
      return add_to_sum(load(buffer, name, sum_->type, place(partial)));
    };
    const auto within = [&](const ValuePtr &partial, const StmtPtr &then) {
      return if_then(binary_value(Op::Lt, partial, integer(partials)), then);
    };
    if (rounds > max_rounds) {
      const std::int64_t round = numbers_.next();
      const ValuePtr partial = add(rank, mul(integer(readers), variable(round, "round")));
      return for_loop(round, "round", integer(0), integer(rounds), LoopKind::Serial, 0,
                      within(partial, read(partial)));
    }
    std::vector<StmtPtr> copies;
    for (std::int64_t round = 0; round < rounds; ++round) {
      const ValuePtr partial = add(rank, integer(round * readers));
      const bool all_there = (round + 1) * readers <= partials;
      copies.push_back(all_there ? read(partial) : within(partial, read(partial)));
    }
    return block(std::move(copies));
  }

  std::int64_t add_buffer(std::int64_t extent) {
    const KernelBuffer &target = kernel_.buffers.at(static_cast<size_t>(update_.buffer));
    KernelBuffer buffer;
    buffer.name = target.name + "_threads";
    buffer.type = sum_->type.scalar;
    buffer.is_argument = false;
    buffer.is_written = true;
    buffer.is_scoped = true;
    buffer.memory = "shared";
    buffer.command = "gpu_thread";
    buffer.where = target.where;
    buffer.extents = {integer(extent)};
    buffer.layout.unit = 0;
    kernel_.buffers.push_back(std::move(buffer));
    return static_cast<std::int64_t>(kernel_.buffers.size()) - 1;
  }

  /// The update, by thread 0 along all axes that no loop around is over.
  StmtPtr by_first() const {
    ValuePtr is_first = around_.active ? around_.active : boolean(true);
    for (size_t axis = 0; axis < 3; ++axis) {
      if (!around_.covered[axis] && around_.threads[axis] > 1) {
        is_first =
            both(is_first, binary_value(Op::Eq, gpu_index(3 + static_cast<int>(axis)), integer(0)));
      }
    }
    const KernelBuffer &target = kernel_.buffers.at(static_cast<size_t>(update_.buffer));
    const ScalarType type = target.type;
    if (update_.is_atomic) {
      return if_then(is_first, atomic_update(update_.op, update_.buffer, target.name,
                                             update_.subscripts, cast_value(sum_, type)));
    }
    const ValuePtr before = load(update_.buffer, target.name, {type, 1}, update_.subscripts);
    const bool is_wider = !(sum_->type.scalar == type);
    const ValuePtr after =
        is_wider ? cast_value(binary_value(update_.op, cast_value(before, sum_->type.scalar), sum_),
                              type)
                 : binary_value(update_.op, before, sum_);
    return if_then(is_first, store(update_.buffer, target.name, update_.subscripts, after,
                                   is_wider ? Op::None : update_.op));
  }

  const AtomicUpdate &update_;
  const ThreadsAround &around_;
  Kernel &kernel_;
  Numbers &numbers_;
  ThreadGroups groups_;
  std::shared_ptr<const Local> sum_;
};

} // namespace

ScalarType accumulator_type(ScalarType type) {
  return type.is_floating() && type.bits < 32 ? Float32 : type;
}

StmtPtr gather_thread_terms(const StmtPtr &body, const Kernel &kernel) {
  if (!has_combined_updates(body)) {
    return body;
  }
  Gathering gathering(body);
  const std::function<StmtPtr(const StmtPtr &)> in_launches =
      [&](const StmtPtr &statement) -> StmtPtr {
    return is<Launch>(statement) ? map_children(statement, gathering)
                                 : map_children(statement, in_launches);
  };
  StmtPtr result = in_launches(body);
  std::vector<const For *> around;
  require_gathered(result, kernel, around);
  return result;
}

StmtPtr combine_threads(const AtomicUpdate &update, const ThreadsAround &around, Kernel &kernel,
                        Numbers &numbers) {
  return Combining(update, around, kernel, numbers)();
}

} // namespace tilewright
