#include "passes/gpu/staged_copies.h"

#include "loops/gpu_queries.h"
#include "loops/traverse.h"
#include "passes/gpu/vector_accesses.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

namespace tilewright {

namespace {

using Buffers = std::set<std::int64_t>;

std::vector<StmtPtr> children_of(const StmtPtr &statement) {
  return is<Block>(statement) ? statement->children : std::vector<StmtPtr>{statement};
}

void collect_variables(const StmtPtr &root, std::set<std::int64_t> &into) {
  visit_statements(root, [&](const LoopStatement &statement) {
    visit_values(statement, [&](const Value &value) {
      if (const auto *variable = as<Variable>(value)) {
        into.insert(variable->id);
      }
    });
  });
}

/// Those of `all` that are chosen, and the Lets that they need, in order.
std::vector<StmtPtr> with_definitions(const std::vector<StmtPtr> &all,
                                      const std::set<const LoopStatement *> &chosen) {
  std::set<std::int64_t> used;
  std::vector<StmtPtr> result;
  for (auto child = all.rbegin(); child != all.rend(); ++child) {
    const auto *let = as<Let>(*child);
    if (chosen.contains(child->get()) || (let != nullptr && used.contains(let->id))) {
      collect_variables(*child, used);
      result.push_back(*child);
    }
  }
  std::reverse(result.begin(), result.end());
  return result;
}

class CopyStager {
public:
  CopyStager(Kernel &kernel, bool asynchronous)
      : kernel_(kernel), asynchronous_(asynchronous), numbers_(kernel.body) {}

  void run() {
    kernel_.body = walk(kernel_.body);
    for (KernelBuffer &buffer : kernel_.buffers) {
      if (is_staged(buffer)) {
        buffer.extents.insert(buffer.extents.begin(), integer(buffer.stages));
        ++buffer.layout.unit;
      }
    }
  }

private:
  static bool is_staged(const KernelBuffer &buffer) {
    return buffer.is_scoped && buffer.memory == "shared" && buffer.stages > 1;
  }
  const KernelBuffer &buffer(std::int64_t number) const {
    return kernel_.buffers[static_cast<size_t>(number)];
  }
  std::int64_t stages(std::int64_t number) const { return buffer(number).stages; }

  // ---- where ----

  StmtPtr walk(const StmtPtr &statement) {
    switch (statement->kind) {
    case StatementKind::Launch: {
      used_.clear();
      loops_ = 0;
      return map_children(statement, [&](const StmtPtr &child) { return walk(child); });
    }
    case StatementKind::If: {
      if (is_one_threads(*statement)) {
        const bool outside = std::exchange(alone_, true);
        StmtPtr result = map_children(statement, [&](const StmtPtr &child) { return walk(child); });
        alone_ = outside;
        return result;
      }
      // Only one of the branches is run.
      const Buffers before = used_;
      Buffers after;
      const StmtPtr result = map_children(statement, [&](const StmtPtr &child) {
        used_ = before;
        StmtPtr branch = walk(child);
        after.insert(used_.begin(), used_.end());
        return branch;
      });
      used_ = std::move(after);
      used_.insert(before.begin(), before.end());
      return result;
    }
    case StatementKind::While:
    case StatementKind::For: {
      if (const auto *loop = as<For>(statement); loop != nullptr && !alone_) {
        if (const StmtPtr pipeline = pipelined(*loop)) {
          return pipeline;
        }
      }
      ++loops_;
      const StmtPtr result =
          map_children(statement, [&](const StmtPtr &child) { return walk(child); });
      --loops_;
      return result;
    }
    case StatementKind::Allocate: {
      const auto &memory = cast<Allocate>(statement);
      if (!is_staged(buffer(memory.buffer))) {
        break;
      }
      const Buffers own = {memory.buffer};
      const bool again = is_used_again(own);
      const StmtPtr body = at_stage(memory.body(), own, integer(0));
      if (alone_) {
        return with_children(statement, {walk(body)}); // waits for nobody
      }
      return with_children(statement, {walk(synchronised(body, own, again))});
    }
    default:
      break;
    }
    return map_children(statement, [&](const StmtPtr &child) { return walk(child); });
  }

  /// Whether threads may still be at work on what these buffers held before.
  bool is_used_again(const Buffers &buffers) {
    bool again = loops_ > 0;
    for (const std::int64_t number : buffers) {
      again = !used_.insert(number).second || again;
    }
    return again;
  }

  // ---- what ----

  struct Contents {
    bool copies = false; ///< stores to the buffers
    bool others = false; ///< anything that cannot be done sooner
  };

  Contents contents_of(const StmtPtr &root, const Buffers &buffers) const {
    Contents contents;
    visit_statements(root, [&](const LoopStatement &statement) {
      switch (statement.kind) {
      case StatementKind::Store:
        (buffers.contains(cast<Store>(statement).buffer) ? contents.copies : contents.others) =
            true;
        break;
      case StatementKind::Block:
      case StatementKind::For:
      case StatementKind::If:
      case StatementKind::Let:
        break;
      default:
        contents.others = true;
      }
      visit_values(statement, [&](const Value &value) {
        const std::int64_t *read = buffer_read(value);
        contents.others =
            contents.others || is<Local>(value) || (read != nullptr && buffers.contains(*read));
      });
    });
    return contents;
  }

  /// The buffer that a load is from; null for other values.
  static const std::int64_t *buffer_read(const Value &value) {
    if (const auto *load = as<Load>(value)) {
      return &load->buffer;
    }
    const auto *matrices = as<Matrices>(value);
    return matrices == nullptr ? nullptr : &matrices->buffer;
  }

  /// `root` with all accesses of these buffers in the stage that `iteration` has.
  StmtPtr at_stage(const StmtPtr &root, const Buffers &buffers, const ValuePtr &iteration) const {
    const auto moved = [&](std::int64_t number, std::vector<ValuePtr> subscripts) {
      subscripts.insert(subscripts.begin(), floor_mod(iteration, integer(stages(number))));
      return subscripts;
    };
    ValueRewriter loads([&](const ValuePtr &value) -> ValuePtr {
      const std::int64_t *read = buffer_read(*value);
      return read != nullptr && buffers.contains(*read)
                 ? with_operands(value, moved(*read, value->operands))
                 : nullptr;
    });
    const std::function<StmtPtr(const StmtPtr &)> all = [&](const StmtPtr &statement) {
      const StmtPtr changed = map_values(map_children(statement, all), std::ref(loads));
      const auto *change = as<ElementChange>(changed);
      return change != nullptr && buffers.contains(change->buffer)
                 ? with_subscripts(*change, moved(change->buffer, change->subscripts))
                 : changed;
    };
    return all(root);
  }

  // ---- without a loop ----

  /// Under a condition on the thread's number, not all come to a barrier; what stands there is the
  /// doing of the one that has the loop.
  static bool is_one_threads(const LoopStatement &statement) {
    bool found = false;
    if (const auto *test = as<If>(statement)) {
      visit_value(test->condition, [&](const Value &value) {
        const auto *index = as<GpuIndex>(value);
        found = found || (index != nullptr && index->number >= 3);
      });
    }
    return found;
  }

  /// Barriers after the buffers are filled, and, where they are used `again`, before.
  StmtPtr synchronised(const StmtPtr &body, const Buffers &buffers, bool again) {
    std::vector<StmtPtr> children;
    bool filled = false;
    bool is_read = again; ///< what was there before
    for (const StmtPtr &child : children_of(body)) {
      const Contents contents = contents_of(child, buffers);
      if (contents.copies && contents.others && is_one_threads(*child)) {
        if (filled || is_read) {
          children.push_back(barrier());
        }
        filled = true;
        is_read = true;
        children.push_back(child);
        continue;
      }
      if (contents.copies && contents.others) {
        const bool inner_again = again || is<For>(child);
        children.push_back(map_children(child, [&](const StmtPtr &inner) {
          return synchronised(inner, buffers, inner_again);
        }));
        continue;
      }
      if (contents.copies && !filled && is_read) {
        children.push_back(barrier());
      } else if (!contents.copies && !is<Let>(child) && filled) {
        children.push_back(barrier());
      }
      if (contents.copies || !is<Let>(child)) {
        filled = contents.copies;
        is_read = is_read || !contents.copies;
      }
      children.push_back(child);
    }
    if (filled) {
      children.push_back(barrier());
    }
    return block(std::move(children));
  }

  // ---- in a loop ----

  /// How one store of a copy is done.
  enum class Way { Asynchronous, Registers, AtOnce };

  struct Staged {
    StmtPtr statement; ///< with what defines its variables
    std::int64_t stages = 1;
  };

  StmtPtr pipelined(const For &loop) {
    if (loop.loop != LoopKind::Serial) {
      return nullptr;
    }
    Buffers own;
    std::vector<StmtPtr> inner_memory;
    std::vector<StmtPtr> memory;
    StmtPtr body = loop.body();
    while (const auto *allocate = as<Allocate>(body)) {
      // Of one iteration, its own loop is gone; another one's iterations may not be copied ahead.
      const KernelBuffer &declared = buffer(allocate->buffer);
      const bool staged = is_staged(declared) && declared.stage_loop == loop.name;
      (staged ? memory : inner_memory).push_back(body);
      if (staged) {
        own.insert(allocate->buffer);
      }
      body = StmtPtr(allocate->body());
    }
    if (own.empty() || std::any_of(inner_memory.begin(), inner_memory.end(), [&](const StmtPtr &m) {
          return is_staged(buffer(cast<Allocate>(m).buffer));
        })) {
      return nullptr;
    }
    const ValuePtr counter = variable(loop.id, loop.name);
    const std::vector<StmtPtr> parts = children_of(at_stage(body, own, counter));
    std::set<const LoopStatement *> work;
    std::map<const LoopStatement *, std::int64_t> copies; ///< with their stages
    for (const StmtPtr &part : parts) {
      const Contents contents = contents_of(part, own);
      if (!contents.copies) {
        if (!is<Let>(part)) {
          work.insert(part.get());
        }
        continue;
      }
      const std::int64_t count = common_stages(part, own);
      if (contents.others || count == 0) {
        return nullptr;
      }
      copies[part.get()] = count;
    }
    std::vector<Staged> staged;
    for (const auto &part : parts) {
      const auto found = copies.find(part.get());
      if (found != copies.end()) {
        staged.push_back({block(with_definitions(parts, {part.get()})), found->second});
      }
    }
    const bool again = is_used_again(own);
    StmtPtr result = pipeline(loop, staged, with_definitions(parts, work), inner_memory, again);
    for (auto outer = memory.rbegin(); outer != memory.rend(); ++outer) {
      result = with_children(*outer, {result});
    }
    return result;
  }

  /// Of the buffers that are stored to; 0 where they differ.
  std::int64_t common_stages(const StmtPtr &copy, const Buffers &buffers) const {
    std::set<std::int64_t> found;
    visit_statements(copy, [&](const LoopStatement &statement) {
      const auto *store = as<Store>(statement);
      if (store != nullptr && buffers.contains(store->buffer)) {
        found.insert(stages(store->buffer));
      }
    });
    return found.size() == 1 ? *found.begin() : 0;
  }

  StmtPtr pipeline(const For &loop, const std::vector<Staged> &copies, std::vector<StmtPtr> work,
                   const std::vector<StmtPtr> &inner_memory, bool again) {
    const bool any_asynchronous =
        std::any_of(copies.begin(), copies.end(),
                    [&](const Staged &copy) { return has_asynchronous(copy.statement); });
    std::vector<StmtPtr> all;
    if (again) {
      all.push_back(barrier());
    }
    copy_first_stages(loop, copies, any_asynchronous, all);
    std::vector<StmtPtr> body;
    if (any_asynchronous) {
      const auto least =
          std::min_element(copies.begin(), copies.end(),
                           [](const Staged &a, const Staged &b) { return a.stages < b.stages; });
      body.push_back(wait_for_copies(least->stages - 2));
    }
    body.push_back(barrier());
    const std::vector<StmtPtr> finish = copy_next_stages(loop, copies, body);
    if (any_asynchronous) {
      body.push_back(commit_copies());
    }
    ++loops_;
    for (StmtPtr &part : work) {
      part = walk(part);
    }
    --loops_;
    body.insert(body.end(), work.begin(), work.end());
    body.insert(body.end(), finish.begin(), finish.end());
    StmtPtr inside = block(std::move(body));
    for (auto outer = inner_memory.rbegin(); outer != inner_memory.rend(); ++outer) {
      inside = with_children(*outer, {inside});
    }
    all.push_back(for_loop(loop, loop.lower, loop.upper, inside));
    return block(std::move(all));
  }

  /// A copy for one iteration of the loop, if it has that one, with what `how` makes of its stores.
  template <class How>
  StmtPtr copy_for(const For &loop, const Staged &copy, const ValuePtr &iteration, const How &how) {
    const StmtPtr changed = change_stores(copy.statement, false, how);
    return if_then(binary_value(Op::Lt, iteration, loop.upper),
                   copy_with(changed, {{loop.id, iteration}}, numbers_));
  }

  /// Before the loop: what its first iterations find copied. `into`: where it is put.
  void copy_first_stages(const For &loop, const std::vector<Staged> &copies, bool any_asynchronous,
                         std::vector<StmtPtr> &into) {
    std::int64_t most = 1;
    for (const Staged &copy : copies) {
      most = std::max(most, copy.stages);
    }
    for (std::int64_t ahead = 0; ahead + 1 < most; ++ahead) {
      const ValuePtr iteration = add(loop.lower, integer(ahead));
      for (const Staged &copy : copies) {
        if (ahead + 1 < copy.stages) {
          into.push_back(copy_for(loop, copy, iteration, [&](const StmtPtr &statement, bool) {
            const auto &store = cast<Store>(statement);
            return way_of(store, true) == Way::Asynchronous ? copy_async(store) : statement;
          }));
        }
      }
      if (any_asynchronous) {
        into.push_back(commit_copies());
      }
    }
  }

  /// In an iteration: the copies for one that is to come begin in `body`; those that go through
  /// registers end with what is returned, after the iteration's work.
  std::vector<StmtPtr> copy_next_stages(const For &loop, const std::vector<Staged> &copies,
                                        std::vector<StmtPtr> &body) {
    std::vector<StmtPtr> begin;
    std::vector<StmtPtr> finish;
    for (const Staged &copy : copies) {
      const ValuePtr iteration = add(variable(loop.id, loop.name), integer(copy.stages - 1));
      std::map<const LoopStatement *, ValuePtr> registers;
      begin.push_back(copy_for(loop, copy, iteration, [&](const StmtPtr &statement, bool in_loop) {
        const auto &store = cast<Store>(statement);
        switch (way_of(store, in_loop)) {
        case Way::Asynchronous:
          return copy_async(store);
        case Way::AtOnce:
          return statement;
        case Way::Registers:
          break;
        }
        const std::int64_t number = numbers_.next();
        const std::string name = store.name + "_next";
        const ValueType type = store.value->type;
        body.push_back(declare_local(number, name, broadcast(zero_of(type.scalar), type.lanes)));
        registers[&store] = local(number, name, type);
        return assign_local(number, name, store.value);
      }));
      if (!registers.empty()) {
        finish.push_back(copy_for(loop, copy, iteration, [&](const StmtPtr &statement, bool) {
          const auto &copied = cast<Store>(statement);
          const auto found = registers.find(&copied);
          return found == registers.end()
                     ? block({})
                     : store(copied.buffer, copied.name, copied.subscripts, found->second);
        }));
      }
    }
    body.insert(body.end(), begin.begin(), begin.end());
    return finish;
  }

  bool has_asynchronous(const StmtPtr &copy) const {
    bool found = false;
    visit_statements(copy, [&](const LoopStatement &statement) {
      const auto *store = as<Store>(statement);
      found = found || (store != nullptr && way_of(*store, true) == Way::Asynchronous);
    });
    return found;
  }

  /// `in_loop`: in one whose iterations would each need registers of their own.
  Way way_of(const Store &store, bool in_loop) const {
    const Way other = in_loop ? Way::AtOnce : Way::Registers;
    const auto *from = as<Load>(store.value);
    if (!asynchronous_ || from == nullptr || buffer(from->buffer).is_scoped || store.mask ||
        !(buffer(from->buffer).type == buffer(store.buffer).type)) {
      return other;
    }
    const std::int64_t item = buffer(from->buffer).type.bytes();
    constexpr std::int64_t least = 4;
    if (from->type.lanes == 1) {
      return item >= least ? Way::Asynchronous : other;
    }
    KernelBuffer to = buffer(store.buffer);
    to.extents.insert(to.extents.begin(), integer(to.stages));
    ++to.layout.unit;
    const std::int64_t width =
        std::min(vector_width(to, store.subscripts, from->type.lanes),
                 vector_width(buffer(from->buffer), from->subscripts(), from->type.lanes));
    return width >= least ? Way::Asynchronous : other;
  }

  /// `root` with what `how` makes of each of its stores, which it is told whether a loop in `root`
  /// is around.
  template <class How>
  StmtPtr change_stores(const StmtPtr &root, bool in_loop, const How &how) {
    if (is<Store>(root)) {
      return how(root, in_loop);
    }
    const bool inside = in_loop || is<For>(root);
    return map_children(root,
                        [&](const StmtPtr &child) { return change_stores(child, inside, how); });
  }

  Kernel &kernel_;
  bool asynchronous_;
  Numbers numbers_;
  Buffers used_;       ///< staged buffers that were filled before in this launch
  int loops_ = 0;      ///< around, in the launch
  bool alone_ = false; ///< some thread does what is around, not all
};

} // namespace

void stage_copies(Kernel &kernel, bool asynchronous) { CopyStager(kernel, asynchronous).run(); }

} // namespace tilewright
