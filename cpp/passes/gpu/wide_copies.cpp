#include "passes/gpu/wide_copies.h"

#include "loops/gpu_queries.h"
#include "loops/linear.h"
#include "loops/traverse.h"
#include "passes/gpu/vector_accesses.h"

#include <algorithm>
#include <optional>

namespace tilewright {

namespace {

bool is_spread(const StmtPtr &statement) { return is_loop_of(statement, LoopKind::GpuSpread); }

bool is_single(const For &loop) {
  const ValuePtr extent = sub(loop.upper, loop.lower);
  const auto known = is_index(extent) ? linear_of(extent) : std::nullopt;
  return known && known->is_constant() && known->constant == 1;
}

/// The multiple of a variable that an index value has; nothing where that is not all it has of it.
std::optional<std::int64_t> multiple_of(const ValuePtr &value, std::int64_t variable) {
  const auto linear = is_index(value) ? linear_of(value) : std::nullopt;
  if (!linear) {
    return std::nullopt;
  }
  std::int64_t multiple = 0;
  for (const Linear::Term &term : linear->terms) {
    if (is_variable(term.atom, variable)) {
      multiple += term.coefficient;
      continue;
    }
    bool hidden = false;
    visit_value(term.atom,
                [&](const Value &inner) { hidden = hidden || (is_variable(inner, variable)); });
    if (hidden) {
      return std::nullopt;
    }
  }
  return multiple;
}

class CopyWidener {
public:
  explicit CopyWidener(Kernel &kernel) : kernel_(kernel), numbers_(kernel.body) {}

  StmtPtr operator()(const StmtPtr &statement) {
    return is_spread(statement) ? widened(statement) : map_children(statement, *this);
  }

private:
  /// A nest of spread loops in two versions, or as it is.
  StmtPtr widened(const StmtPtr &nest) {
    std::vector<StmtPtr> loops = {nest};
    while (is_spread(loops.back()->children[0])) {
      loops.push_back(loops.back()->children[0]);
    }
    StmtPtr copy = loops.back()->children[0];
    const auto *given = as<Store>(copy);
    if (given == nullptr || given->mask || !is<Load>(given->value) ||
        given->value->type.lanes != 1) {
      return nest;
    }
    // Loops of one iteration may stand inside of the one along neighbours.
    while (loops.size() > 1 && is_single(cast<For>(loops.back()))) {
      const auto &single = cast<For>(loops.back());
      copy = copy_with(copy, {{single.id, single.lower}}, numbers_);
      loops.pop_back();
    }
    const auto &inner = cast<For>(loops.back());
    const auto &store = cast<Store>(copy);
    const int lanes = lanes_of(inner, store);
    if (lanes == 0) {
      return nest;
    }
    const std::int64_t from = cast<Load>(store.value).buffer;
    const KernelBuffer &source = kernel_.buffers[static_cast<size_t>(from)];
    const std::int64_t group = numbers_.next();
    const ValuePtr count =
        floor_div(add(sub(inner.upper, inner.lower), integer(lanes - 1)), integer(lanes));
    StmtPtr wide = for_loop(group, inner.name + std::to_string(lanes), integer(0), count,
                            LoopKind::GpuSpread, 0, group_of(inner, store, lanes, group));
    for (size_t d = loops.size() - 1; d-- > 0;) {
      wide = with_children(loops[d], {wide});
    }
    const auto bytes = static_cast<int>(lanes * source.type.bytes());
    return if_then(aligned(from, source.name, bytes), copy_with(wide, {}, numbers_), nest);
  }

  /// So many neighbours are loaded at once; 0 where they cannot be.
  int lanes_of(const For &inner, const Store &store) const {
    const auto &from = cast<Load>(store.value);
    const KernelBuffer &source = kernel_.buffers[static_cast<size_t>(from.buffer)];
    const bool is_local = source.is_scoped;
    if (is_local || source.layout.unit < 0 || source.type.bytes() >= widest_access) {
      return 0;
    }
    for (size_t d = 0; d < from.subscripts().size(); ++d) {
      if (multiple_of(from.subscripts()[d], inner.id) !=
          (static_cast<int>(d) == source.layout.unit ? 1 : 0)) {
        return 0;
      }
    }
    for (const ValuePtr &subscript : store.subscripts) {
      if (!multiple_of(subscript, inner.id)) {
        return 0;
      }
    }
    const auto lower = is_index(inner.lower) ? linear_of(inner.lower) : std::nullopt;
    if (!lower) {
      return 0;
    }
    // The first element of the loop; all others of their groups are multiples away.
    ValueRewriter at_first([&](const ValuePtr &value) -> ValuePtr {
      return is_variable(value, inner.id) ? inner.lower : nullptr;
    });
    std::vector<ValuePtr> first;
    for (const ValuePtr &subscript : from.subscripts()) {
      first.push_back(at_first(subscript));
    }
    const std::int64_t known = known_alignment(source, first);
    constexpr std::int64_t least = 4;
    const std::int64_t item = source.type.bytes();
    const ValuePtr iterations = sub(inner.upper, inner.lower);
    const auto extent = is_index(iterations) ? linear_of(iterations) : std::nullopt;
    for (std::int64_t bytes = widest_access; bytes >= least && bytes > item; bytes /= 2) {
      const bool has_rest =
          extent && extent->is_constant() && extent->constant % (bytes / item) != 0;
      if (bytes <= known && !has_rest) {
        return static_cast<int>(bytes / item);
      }
    }
    return 0;
  }

  /// What is copied in iteration `group`: a vector, or where fewer are left, these.
  StmtPtr group_of(const For &inner, const Store &store, int lanes, std::int64_t group) {
    const ValuePtr first = add(inner.lower, mul(integer(lanes), variable(group, inner.name)));
    const auto of_lanes = [&](const std::vector<ValuePtr> &subscripts) {
      ValueRewriter at_first([&](const ValuePtr &value) -> ValuePtr {
        return is_variable(value, inner.id) ? first : nullptr;
      });
      std::vector<ValuePtr> result;
      for (const ValuePtr &subscript : subscripts) {
        const std::int64_t step = *multiple_of(subscript, inner.id);
        const ValuePtr base = at_first(subscript);
        const auto linear = linear_of(base); // the loop's bounds may cancel out
        const ValuePtr shorter = linear ? value_of(*linear) : base;
        result.push_back(step == 0 ? shorter : ramp(shorter, step, lanes));
      }
      return result;
    };
    const auto &from = cast<Load>(store.value);
    StmtPtr vector = tilewright::store(
        store.buffer, store.name, of_lanes(store.subscripts),
        load(from.buffer, from.name, {from.type.scalar, lanes}, of_lanes(from.subscripts())));
    const ValuePtr end = add(first, integer(lanes));
    const ValuePtr left = sub(inner.upper, inner.lower);
    const auto extent = is_index(left) ? linear_of(left) : std::nullopt;
    if (extent && extent->is_constant()) {
      return vector; // whole groups only
    }
    const StmtPtr rest =
        for_loop(inner.id, inner.name, first, inner.upper, LoopKind::Serial, 0, inner.body());
    return if_then(binary_value(Op::Le, end, inner.upper), vector, rest);
  }

  Kernel &kernel_;
  Numbers numbers_;
};

} // namespace

void widen_copies(Kernel &kernel) { kernel.body = CopyWidener(kernel)(kernel.body); }

} // namespace tilewright
