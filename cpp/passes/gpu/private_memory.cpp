#include "passes/gpu/private_memory.h"

#include "loops/build.h"
#include "loops/gpu_queries.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <set>

namespace tilewright {

namespace {

/// A thread's registers are 255 of four bytes.
constexpr std::int64_t largest_private_buffer = 4 * 1024;
/// What one thread has of a dimension of a private buffer.
struct OwnPart {
  std::map<int, std::int64_t> threads; ///< axis -> multiple of the thread's number
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  std::int64_t last = std::numeric_limits<std::int64_t>::min();
  /// Where all are known, as in unrolled loops, they lie side by side whatever lies between.
  std::set<std::int64_t> places;
  bool has_others = false;

  bool is_dense() const { return has_others || places.empty(); }
  std::int64_t extent() const {
    return is_dense() ? last - first + 1 : static_cast<std::int64_t>(places.size());
  }
  /// Of a subscript, given without the thread's number.
  ValuePtr place_of(Linear rest) const {
    if (is_dense()) {
      rest.constant -= first;
      return value_of(rest);
    }
    return integer(std::distance(places.begin(), places.find(rest.constant)));
  }
};

class PrivateMemory {
public:
  PrivateMemory(Kernel &kernel, const Ranges &ranges, const std::map<std::int64_t, int> &threads,
                Numbers &numbers)
      : kernel_(kernel), ranges_(ranges), first_of_(threads), numbers_(numbers) {}

  StmtPtr operator()(const StmtPtr &given) {
    StmtPtr body = from_zero(given);
    std::map<std::int64_t, std::vector<OwnPart>> parts;
    const auto look = [&](std::int64_t buffer, const std::vector<ValuePtr> &subscripts) {
      if (is_private(buffer)) {
        std::vector<OwnPart> &own = parts[buffer];
        own.resize(subscripts.size());
        for (size_t d = 0; d < subscripts.size(); ++d) {
          own_part(buffer, subscripts[d], own[d]);
        }
      }
    };
    visit_accesses(body, look);
    if (parts.empty()) {
      return body;
    }
    for (const auto &[buffer, own] : parts) {
      KernelBuffer &declared = kernel_.buffers[static_cast<size_t>(buffer)];
      declared.extents.clear();
      for (const OwnPart &part : own) {
        declared.extents.push_back(integer(part.extent()));
      }
      const std::int64_t bytes = local_bytes(declared);
      if (bytes > largest_private_buffer) {
        refuse(buffer, "a thread would have " + std::to_string(bytes) + " bytes of it, more than " +
                           std::to_string(largest_private_buffer) + "; take smaller tiles");
      }
    }
    const auto moved = [&](std::int64_t buffer, const std::vector<ValuePtr> &subscripts) {
      std::vector<ValuePtr> result;
      for (size_t d = 0; d < subscripts.size(); ++d) {
        OwnPart &part = parts.at(buffer)[d];
        const ValuePtr base = part.place_of(own_part(buffer, subscripts[d], part));
        const ValuePtr &old = subscripts[d];
        result.push_back(old->kind == ValueKind::Ramp
                             ? ramp(base, old->id, old->type.lanes, old->inner, old->inner_stride)
                             : base);
      }
      return result;
    };
    ValueRewriter loads([&](const ValuePtr &value) -> ValuePtr {
      return value->kind == ValueKind::Load && is_private(value->id)
                 ? load(value->id, value->name, value->type, moved(value->id, value->operands))
                 : nullptr;
    });
    const std::function<StmtPtr(const StmtPtr &)> rewrite_all = [&](const StmtPtr &statement) {
      StmtPtr changed = map_children(statement, rewrite_all);
      const bool writes =
          changed->kind == StatementKind::Store || changed->kind == StatementKind::AtomicUpdate;
      if (writes && is_private(changed->buffer)) {
        auto copy = std::make_shared<LoopStatement>(*changed);
        copy->subscripts = moved(changed->buffer, changed->subscripts);
        changed = copy;
      }
      return map_values(changed, std::ref(loads));
    };
    return rewrite_all(body);
  }

private:
  bool is_private(std::int64_t buffer) const {
    const KernelBuffer &declared = kernel_.buffers[static_cast<size_t>(buffer)];
    return declared.is_scoped && declared.memory == "private";
  }

  [[noreturn]] void refuse(std::int64_t buffer, const std::string &reason) const {
    const KernelBuffer &declared = kernel_.buffers[static_cast<size_t>(buffer)];
    throw Error(ErrorKind::Schedule,
                declared.command + ": buffer '" + declared.name +
                    "' cannot be each thread's own: " + reason,
                declared.where);
  }

  /// Whether a loop's variable is in a subscript of a private buffer.
  bool runs_through_own(const LoopStatement &loop) const {
    bool found = false;
    const auto look = [&](std::int64_t buffer, const std::vector<ValuePtr> &subscripts) {
      for (const ValuePtr &subscript : subscripts) {
        visit_value(subscript, [&](const Value &value) {
          found = found ||
                  (is_private(buffer) && value.kind == ValueKind::Variable && value.id == loop.id);
        });
      }
    };
    visit_accesses(loop.children[0], look);
    return found;
  }

  /// Loops that begin at another place in each thread, as those around what the thread needs do,
  /// begin at 0, and their iterations say how far they are from there.
  StmtPtr from_zero(const StmtPtr &statement) {
    StmtPtr changed =
        map_children(statement, [&](const StmtPtr &child) { return from_zero(child); });
    if (changed->kind != StatementKind::For || as_integer(changed->lower) ||
        !runs_through_own(*changed)) {
      return changed;
    }
    ValuePtr extent = sub(changed->upper, changed->lower);
    if (const auto sum = is_index(extent) ? linear_of(extent) : std::nullopt) {
      extent = value_of(*sum);
    }
    const Interval known = ranges_.of(extent);
    if (!known.upper) {
      return changed;
    }
    const std::int64_t own = numbers_.next();
    ranges_.variables[own] = {0, std::max<std::int64_t>(*known.upper, 1) - 1};
    auto loop = std::make_shared<LoopStatement>(*changed);
    loop->id = own;
    loop->lower = integer(0);
    loop->upper = extent;
    loop->children = {copy_with(changed->children[0],
                                {{changed->id, add(changed->lower, variable(own, changed->name))}},
                                numbers_)};
    return loop;
  }

  static void
  visit_accesses(const StmtPtr &body,
                 const std::function<void(std::int64_t, const std::vector<ValuePtr> &)> &look) {
    visit_statements(body, [&](const LoopStatement &statement) {
      if (statement.kind == StatementKind::Store || statement.kind == StatementKind::AtomicUpdate) {
        look(statement.buffer, statement.subscripts);
      }
      visit_values(statement, [&](const Value &value) {
        if (value.kind == ValueKind::Load) {
          look(value.id, value.operands);
        }
      });
    });
  }

  /// A subscript without what depends on the thread's number.
  Linear own_part(std::int64_t buffer, const ValuePtr &subscript, OwnPart &part) const {
    const ValuePtr lane = subscript->kind == ValueKind::Ramp ? subscript->operands[0] : subscript;
    const auto linear = is_index(lane) ? linear_of(lane) : std::nullopt;
    if (!linear) {
      refuse(buffer, "a subscript is not a sum of loops' values");
    }
    Linear rest;
    rest.constant = linear->constant;
    std::map<int, std::int64_t> threads;
    for (const Linear::Term &term : linear->terms) {
      const auto known =
          term.atom->kind == ValueKind::Variable ? first_of_.find(term.atom->id) : first_of_.end();
      if (known == first_of_.end()) {
        rest.terms.push_back(term);
      } else if (known->second < 0) {
        refuse(buffer, "a loop over threads does not begin at 0");
      } else {
        threads[known->second] += term.coefficient;
      }
    }
    const Interval range = ranges_.of(rest);
    if (!range.lower || !range.upper) {
      refuse(buffer, "how much of it a thread has is not a constant, as it is touched at " +
                         print_element(kernel_, buffer, {value_of(rest)}) +
                         " in one dimension; give the loops inside of the threads' constant "
                         "extents (split them)");
    }
    const bool is_first = part.first > part.last;
    if (!is_first && part.threads != threads) {
      refuse(buffer, "two accesses give a thread different parts of it");
    }
    part.threads = threads;
    const bool is_ramp = subscript->kind == ValueKind::Ramp;
    Interval lanes{0, 0}; // from the first lane to the others
    if (is_ramp) {
      const std::int64_t across = subscript->id * (subscript->type.lanes / subscript->inner - 1);
      const std::int64_t inside = subscript->inner_stride * (subscript->inner - 1);
      lanes = {std::min<std::int64_t>(across, 0) + std::min<std::int64_t>(inside, 0),
               std::max<std::int64_t>(across, 0) + std::max<std::int64_t>(inside, 0)};
    }
    part.first = std::min(part.first, *range.lower + *lanes.lower);
    part.last = std::max(part.last, *range.upper + *lanes.upper);
    if (rest.is_constant() && !is_ramp) {
      part.places.insert(rest.constant);
    } else {
      part.has_others = true;
    }
    return rest;
  }

  Kernel &kernel_;
  Ranges ranges_;
  const std::map<std::int64_t, int> &first_of_;
  Numbers &numbers_;
};

} // namespace

StmtPtr shrink_private_buffers(const StmtPtr &body, Kernel &kernel, const Ranges &ranges,
                               const std::map<std::int64_t, int> &threads, Numbers &numbers) {
  return PrivateMemory(kernel, ranges, threads, numbers)(body);
}

} // namespace tilewright
