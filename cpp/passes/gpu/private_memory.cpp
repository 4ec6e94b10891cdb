#include "passes/gpu/private_memory.h"

#include "loops/gpu_queries.h"
#include "loops/traverse.h"

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
        const auto *lanes = as<Ramp>(old);
        result.push_back(lanes == nullptr ? base : ramp(*lanes, base));
      }
      return result;
    };
    ValueRewriter loads([&](const ValuePtr &value) -> ValuePtr {
      const auto *own = as<Load>(value);
      return own != nullptr && is_private(own->buffer)
                 ? load(*own, moved(own->buffer, own->subscripts()))
                 : nullptr;
    });
    const std::function<StmtPtr(const StmtPtr &)> rewrite_all = [&](const StmtPtr &statement) {
      StmtPtr changed = map_children(statement, rewrite_all);
      const auto *change = as<ElementChange>(changed);
      if (change != nullptr && is_private(change->buffer)) {
        changed = with_subscripts(*change, moved(change->buffer, change->subscripts));
      }
      return StmtPtr(map_values(changed, std::ref(loads)));
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
  bool runs_through_own(const For &loop) const {
    bool found = false;
    const auto look = [&](std::int64_t buffer, const std::vector<ValuePtr> &subscripts) {
      for (const ValuePtr &subscript : subscripts) {
        visit_value(subscript, [&](const Value &value) {
          found = found || (is_private(buffer) && is_variable(value, loop.id));
        });
      }
    };
    visit_accesses(loop.body(), look);
    return found;
  }

  /// Loops that begin at another place in each thread, as those around what the thread needs do,
  /// begin at 0, and their iterations say how far they are from there.
  StmtPtr from_zero(const StmtPtr &statement) {
    StmtPtr changed =
        map_children(statement, [&](const StmtPtr &child) { return from_zero(child); });
    const auto *old = as<For>(changed);
    if (old == nullptr || as_integer(old->lower) || !runs_through_own(*old)) {
      return changed;
    }
    ValuePtr extent = sub(old->upper, old->lower);
    if (const auto sum = is_index(extent) ? linear_of(extent) : std::nullopt) {
      extent = value_of(*sum);
    }
    const Interval known = ranges_.of(extent);
    if (!known.upper) {
      return changed;
    }
    const std::int64_t own = numbers_.next();
    ranges_.variables[own] = {0, std::max<std::int64_t>(*known.upper, 1) - 1};
    auto loop = copy_of<For>(*old);
    loop->id = own;
    loop->lower = integer(0);
    loop->upper = extent;
    loop->children = {
        copy_with(old->body(), {{old->id, add(old->lower, variable(own, old->name))}}, numbers_)};
    return loop;
  }

  static void
  visit_accesses(const StmtPtr &body,
                 const std::function<void(std::int64_t, const std::vector<ValuePtr> &)> &look) {
    visit_statements(body, [&](const LoopStatement &statement) {
      if (const auto *change = as<ElementChange>(statement)) {
        look(change->buffer, change->subscripts);
      }
      visit_values(statement, [&](const Value &value) {
        if (const auto *own = as<Load>(value)) {
          look(own->buffer, own->subscripts());
        }
      });
    });
  }

  /// A subscript without what depends on the thread's number.
  Linear own_part(std::int64_t buffer, const ValuePtr &subscript, OwnPart &part) const {
    const auto *ramp = as<Ramp>(subscript);
    const ValuePtr lane = ramp != nullptr ? ramp->base() : subscript;
    const auto linear = is_index(lane) ? linear_of(lane) : std::nullopt;
    if (!linear) {
      refuse(buffer, "a subscript is not a sum of loops' values");
    }
    Linear rest;
    rest.constant = linear->constant;
    std::map<int, std::int64_t> threads;
    for (const Linear::Term &term : linear->terms) {
      const auto *variable = as<Variable>(term.atom);
      const auto known = variable != nullptr ? first_of_.find(variable->id) : first_of_.end();
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
    Interval lanes{0, 0}; // from the first lane to the others
    if (ramp != nullptr) {
      const std::int64_t across = ramp->stride * (ramp->type.lanes / ramp->inner - 1);
      const std::int64_t inside = ramp->inner_stride * (ramp->inner - 1);
      lanes = {std::min<std::int64_t>(across, 0) + std::min<std::int64_t>(inside, 0),
               std::max<std::int64_t>(across, 0) + std::max<std::int64_t>(inside, 0)};
    }
    part.first = std::min(part.first, *range.lower + *lanes.lower);
    part.last = std::max(part.last, *range.upper + *lanes.upper);
    if (rest.is_constant() && ramp == nullptr) {
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
