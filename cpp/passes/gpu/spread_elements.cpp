#include "passes/gpu/spread_elements.h"

#include "loops/linear.h"
#include "loops/traverse.h"

#include <algorithm>
#include <array>
#include <vector>

namespace tilewright {

namespace {

constexpr std::int64_t threads_of_block = 256;
constexpr std::array<std::int64_t, 3> one_thread = {1, 1, 1};

/// Whether some part of a value is so.
template <class Test>
bool has(const ValuePtr &value, Test &&test) {
  bool found = false;
  visit_value(value, [&](const Value &part) { found = found || test(part); });
  return found;
}

bool reads(const ValuePtr &value) {
  return has(value, [](const Value &part) { return is<Load>(part) || is<Local>(part); });
}

bool uses(const ValuePtr &value, std::int64_t id) {
  return has(value, [&](const Value &part) { return is_variable(part, id); });
}

/// Serial loops with tests and names that read nothing, around one store.
struct Nest {
  std::vector<std::int64_t> variables; ///< of its loops
  const Store *store = nullptr;
  bool is_plain = true;
};

Nest nest_of(const StmtPtr &statement) {
  Nest nest;
  visit_statements(statement, [&](const LoopStatement &inner) {
    if (const auto *store = as<Store>(inner)) {
      nest.is_plain = nest.is_plain && nest.store == nullptr;
      nest.store = store;
      return;
    }
    if (const auto *loop = as_loop(inner, LoopKind::Serial)) {
      nest.variables.push_back(loop->id);
    } else if (!is<Block>(inner) && !is<If>(inner)) {
      nest.is_plain = false;
    }
    each_value(inner,
               [&](const ValuePtr &value) { nest.is_plain = nest.is_plain && !reads(value); });
  });
  nest.is_plain = nest.is_plain && nest.store != nullptr && !nest.store->mask;
  return nest;
}

/// Whether each loop is a dimension of the buffer, so that iterations have elements of their own.
bool has_own_elements(const Nest &nest) {
  return std::all_of(nest.variables.begin(), nest.variables.end(), [&](std::int64_t id) {
    size_t plain = 0;
    size_t others = 0;
    for (const ValuePtr &subscript : nest.store->subscripts) {
      const auto *own = as<Variable>(subscript);
      plain += own != nullptr && own->id == id ? 1 : 0;
      others += own == nullptr && uses(subscript, id) ? 1 : 0;
    }
    return plain == 1 && others == 0;
  });
}

/// Whether what is stored needs nothing that another iteration stores.
bool is_independent(const Nest &nest) {
  const Store &store = *nest.store;
  if (std::any_of(store.subscripts.begin(), store.subscripts.end(), reads)) {
    return false;
  }
  if (!reads(store.value) &&
      !has(store.value, [](const Value &part) { return is<Variable>(part); })) {
    return true; // the same whichever iteration comes last
  }
  const auto needs_another = [&](const Value &part) {
    const auto *from = as<Load>(part);
    return is<Local>(part) ||
           (from != nullptr && from->buffer == store.buffer &&
            !std::equal(from->subscripts().begin(), from->subscripts().end(),
                        store.subscripts.begin(), store.subscripts.end(), same_value));
  };
  return has_own_elements(nest) && !has(store.value, needs_another);
}

/// The outermost loop of such a nest; else null.
const For *elements_of(const StmtPtr &statement) {
  const auto *loop = as_loop(statement, LoopKind::Serial);
  if (loop == nullptr) {
    return nullptr;
  }
  const Nest nest = nest_of(statement);
  return nest.is_plain && is_independent(nest) ? loop : nullptr;
}

/// A loop and those directly inside of it, for all threads of a block.
StmtPtr dealt_out(const StmtPtr &statement) {
  const auto *loop = as_loop(statement, LoopKind::Serial);
  if (loop == nullptr) {
    return statement;
  }
  auto result = for_loop(*loop, loop->lower, loop->upper, dealt_out(loop->body()));
  result->loop = LoopKind::GpuSpread;
  return result;
}

class ElementSpreader {
public:
  explicit ElementSpreader(Kernel &kernel) : kernel_(kernel), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    const auto *own = as<Launch>(statement);
    if (own == nullptr) {
      return map_children(statement, *this);
    }
    if (own->threads != one_thread) {
      return with_children(statement, {in_block(own->body(), true)});
    }
    if (const For *loop = elements_of(own->body())) {
      return launch({threads_of_block, 1, 1}, over_grid(*loop));
    }
    const StmtPtr inside = by_threads(own->body());
    return inside ? launch({threads_of_block, 1, 1}, inside) : statement;
  }

private:
  // ---- a kernel of its own ----

  /// Rows along y and columns along x, or blocks of one loop.
  StmtPtr over_grid(const For &outermost) {
    const auto *inner = as_loop(outermost.body(), LoopKind::Serial);
    if (inner == nullptr || uses(inner->lower, outermost.id) || uses(inner->upper, outermost.id)) {
      return along_threads(outermost);
    }
    auto rows = for_loop(outermost, outermost.lower, outermost.upper, along_threads(*inner));
    rows->loop = LoopKind::GpuBlock;
    rows->axis = 1;
    return rows;
  }

  /// Blocks of so many iterations of a loop, of which threads have one each.
  StmtPtr along_threads(const For &loop) {
    const ValuePtr size = integer(threads_of_block);
    const ValuePtr extent = sub(loop.upper, loop.lower);
    const std::int64_t outer = numbers_.next();
    const std::int64_t inner = numbers_.next();
    const ValuePtr first = mul(size, variable(outer, loop.name + "0"));
    const ValuePtr here = add(loop.lower, add(first, variable(inner, loop.name + "1")));
    const auto threads =
        for_loop(inner, loop.name + "1", integer(0), minimum(size, sub(extent, first)),
                 LoopKind::GpuThread, 0, copy_with(loop.body(), {{loop.id, here}}, numbers_));
    return for_loop(outer, loop.name + "0", integer(0),
                    floor_div(add(extent, integer(threads_of_block - 1)), size), LoopKind::GpuBlock,
                    0, threads);
  }

  /// Loops over blocks with a nest in them, for many threads; null where there is something else.
  static StmtPtr by_threads(const StmtPtr &statement) {
    if (const auto *loop = as_loop(statement, LoopKind::GpuBlock)) {
      const StmtPtr inside = by_threads(loop->body());
      return inside ? for_loop(*loop, loop->lower, loop->upper, inside) : nullptr;
    }
    return elements_of(statement) == nullptr ? nullptr : dealt_out(statement);
  }

  // ---- between two barriers ----

  bool is_private(const StmtPtr &nest) const {
    return kernel_.buffers[static_cast<size_t>(nest_of(nest).store->buffer)].memory == "private";
  }

  /// `is_first`: no thread of the block has done anything yet.
  StmtPtr in_block(const StmtPtr &statement, bool is_first) {
    if (!is<Block>(statement)) {
      const bool inside =
          is_first && (is_loop_of(statement, LoopKind::GpuBlock) || is<Allocate>(statement));
      return map_children(statement, [&](const StmtPtr &child) { return in_block(child, inside); });
    }
    const std::vector<StmtPtr> &given = statement->children;
    std::vector<StmtPtr> children;
    for (size_t c = 0; c < given.size(); ++c) {
      const bool begins = c == 0 ? is_first : is<Barrier>(given[c - 1]);
      const bool ends = c + 1 < given.size() && is<Barrier>(given[c + 1]);
      const bool deals =
          begins && ends && elements_of(given[c]) != nullptr && !is_private(given[c]);
      children.push_back(deals ? dealt_out(given[c]) : in_block(given[c], begins));
    }
    return with_children(statement, std::move(children));
  }

  Kernel &kernel_;
  Numbers numbers_;
};

} // namespace

void spread_elements(Kernel &kernel) { kernel.body = ElementSpreader(kernel)(kernel.body); }

} // namespace tilewright
