// Which statements of a kernel touch the same elements, and whether threads must wait in between:
// the part of GpuKernels that barriers come from.
#include "analysis/gpu_kernels.h"
#include "analysis/gpu_tags.h"
#include "analysis/happens_before.h"
#include "analysis/mma_tiles.h"
#include "mapping/accesses.h"
#include "mapping/footprint.h"

#include <isl/aff.h>
#include <isl/map.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_gpu_waits = "the threads of a kernel";

[[noreturn]] void refuse(const Statement &statement, const std::string &message) {
  throw Error(ErrorKind::Schedule, message, statement.mapped_at);
}

} // namespace

const std::vector<GpuKernels::Access> &GpuKernels::accesses_of(size_t s) const {
  const auto known = accesses_.find(s);
  if (known != accesses_.end()) {
    return known->second;
  }
  const Statement &statement = program_.statements[s];
  std::vector<Access> accesses;
  const auto &own = program_.places.at(statement.computation->name);
  const isl::map written =
      checked(defined_value(statement).apply_range(own.relation), doing_gpu_waits);
  accesses.push_back(
      {own.buffer, written, true, statement.atomic && terms_may_meet(statement), false, true});
  for (const ReadAccess &read : read_accesses(statement)) {
    const auto &place = program_.places.at(read.producer->name);
    accesses.push_back({place.buffer,
                        checked(read.relation.apply_range(place.relation), doing_gpu_waits), false,
                        false, is_mma_product(statement), false});
  }
  return accesses_.emplace(s, std::move(accesses)).first->second;
}

namespace {

/// Whether a loop inside of `level` goes through several elements, one after the other: `same` has
/// the instances of one element.
bool has_elements_inside(const Statement &statement, size_t level, const isl::map &same) {
  isl::map at_once = isl::map::from_domain_and_range(statement.domain, statement.domain);
  for (size_t outer = 0; outer < statement.loop_names.size(); ++outer) {
    const LoopTag &tag = statement.tags[outer];
    if (outer <= level || tag.tag == Tag::GpuThread || tag.tag == Tag::Unroll) {
      const isl::pw_aff &loop = statement.loops[outer];
      at_once = at_once.intersect(isl::manage(isl_pw_aff_eq_map(loop.copy(), loop.copy())));
    }
  }
  return !checked(at_once.is_subset(same), doing_gpu_waits);
}

} // namespace

std::array<bool, 3> GpuKernels::combined_axes(size_t s) const {
  if (const auto known = combined_.find(s); known != combined_.end()) {
    return known->second;
  }
  std::array<bool, 3> &combined = combined_[s];
  const Statement &statement = program_.statements[s];
  const GpuKernel *kernel = kernel_of(s);
  if (kernel == nullptr || statement.role != StatementRole::Update) {
    return combined;
  }
  // Instances that define one value, and those of them whose outer loops agree.
  const isl::map value = defined_value(statement);
  isl::map same = value.apply_range(value.reverse());
  for (size_t d = 0; d < statement.replicas; ++d) {
    same = same.equate(isl::dim::in, static_cast<int>(d), isl::dim::out, static_cast<int>(d));
  }
  isl::map left = same;
  isl::map at_once = isl::map::from_domain_and_range(statement.domain, statement.domain);
  std::optional<size_t> innermost;
  for (size_t level = 0; level < statement.loop_names.size(); ++level) {
    const isl::pw_aff &loop = statement.loops[level];
    const LoopTag &tag = statement.tags[level];
    const isl::map equal = isl::manage(isl_pw_aff_eq_map(loop.copy(), loop.copy()));
    if (tag.tag == Tag::GpuThread && kernel->threads.at(static_cast<size_t>(tag.axis)) > 1) {
      const isl::map later = isl::manage(isl_pw_aff_lt_map(loop.copy(), loop.copy()));
      if (!checked(left.is_disjoint(later), doing_gpu_waits)) {
        combined.at(static_cast<size_t>(tag.axis)) = true;
        innermost = level;
        left = left.intersect(equal);
        continue;
      }
    }
    left = left.intersect(equal);
    at_once = at_once.intersect(equal);
  }
  if (!innermost) {
    return combined;
  }
  if (statement.atomic && has_elements_inside(statement, *innermost, same)) {
    return combined = {};
  }
  if (has_spread(statement)) {
    refuse(statement, loop_text(statement, *innermost) +
                          " is over threads that put their terms together, but another loop is "
                          "dealt out to all threads (gpu_spread); use gpu_thread for both");
  }
  if (!checked(at_once.is_subset(same), doing_gpu_waits)) {
    refuse(statement, "the threads of " + loop_text(statement, *innermost) +
                          " have terms of different elements at the same time; those that add to "
                          "one element need a loop over threads of their own (split the loop, or "
                          "reorder)");
  }
  return combined;
}

/// first -> second where both touch an element of a buffer. A buffer inside loops is one and the
/// same memory in each of their iterations, in which its elements lie at other places: of two
/// iterations (`reused`) all are taken to meet.
isl::map GpuKernels::touching(const Statement &first, const Access &a, const Statement &second,
                              const Access &b, bool reused) const {
  isl::map pairs = checked(a.element.apply_range(b.element.reverse()), doing_gpu_waits);
  const auto levels = static_cast<size_t>(program_.buffers[a.buffer].level);
  if (levels == 0) {
    return pairs;
  }
  isl::map same = isl::map::from_domain_and_range(first.domain, second.domain);
  for (size_t level = 0; level < levels; ++level) {
    same = same.intersect(
        isl::manage(isl_pw_aff_eq_map(first.loops[level].copy(), second.loops[level].copy())));
  }
  pairs = pairs.intersect(same);
  if (reused) {
    const isl::map all = isl::map::from_domain_and_range(
        a.element.domain().intersect(first.domain), b.element.domain().intersect(second.domain));
    pairs = pairs.unite(all.subtract(same));
  }
  return checked(pairs, doing_gpu_waits);
}

/// Are two of these instances run by different threads of a block? Asked by axis and by which of
/// the numbers is larger: that is quicker than whether all pairs are among those of one thread.
bool GpuKernels::differ_in_thread(size_t first, const Access &before, size_t second,
                                  const Access &after, const isl::map &pairs) const {
  const GpuKernel &kernel = *kernel_of(first);
  const auto number = [&](size_t s, const Access &access, size_t axis) {
    const Statement &statement = program_.statements[s];
    std::optional<size_t> level = thread_level(statement, static_cast<int>(axis));
    if (access.by_first && combined_axes(s).at(axis)) {
      level.reset();
    }
    const isl::val threads(isl_context(), static_cast<long>(kernel.threads[axis]));
    const isl::pw_aff zero(isl::set::universe(statement.domain.space()),
                           isl::val(isl_context(), 0L));
    if (const auto tile = axis == 0 ? mma_loops(statement) : std::nullopt) {
      return mma_lane(statement, *tile);
    }
    return level ? statement.loops[*level].mod(threads) : zero;
  };
  for (size_t axis = 0; axis < 3; ++axis) {
    if (kernel.threads[axis] == 1) {
      continue;
    }
    const isl::pw_aff one = number(first, before, axis);
    const isl::pw_aff other = number(second, after, axis);
    const isl::map smaller = isl::manage(isl_pw_aff_lt_map(one.copy(), other.copy()));
    const isl::map larger = isl::manage(isl_pw_aff_gt_map(one.copy(), other.copy()));
    for (const isl::map &differing : {smaller, larger}) {
      if (!checked(pairs.intersect(differing).is_empty(), doing_gpu_waits)) {
        return true;
      }
    }
  }
  return false;
}

bool GpuKernels::other_threads(size_t first, const Access &a, size_t second, const Access &b,
                               const isl::map &pairs) const {
  if (checked(pairs.is_empty(), doing_gpu_waits)) {
    return false;
  }
  const auto &[x, y, z] = kernel_of(first)->threads;
  if (x * y * z == 1) {
    return false;
  }
  // Which thread has an iteration of a spread loop is the code's choice.
  return a.by_any || b.by_any || has_spread(program_.statements[first]) ||
         has_spread(program_.statements[second]) || differ_in_thread(first, a, second, b, pairs);
}

bool GpuKernels::must_wait(size_t first, size_t second, size_t levels, bool carried,
                           bool with_stages) const {
  if (kernel_of_[first] != kernel_of_[second] || !kernel_of_[first]) {
    return false;
  }
  const auto key = std::make_tuple(first, second, levels, carried, with_stages);
  if (const auto known = waits_.find(key); known != waits_.end()) {
    return known->second;
  }
  const Statement &a = program_.statements[first];
  const Statement &b = program_.statements[second];
  const GpuKernel &kernel = *kernel_of(first);
  isl::map times = isl::map::from_domain_and_range(a.domain, b.domain);
  for (size_t level = 0; level < std::max(levels, kernel.first_level + kernel.blocks); ++level) {
    if (level == levels && carried) {
      break;
    }
    times = times.intersect(
        isl::manage(isl_pw_aff_eq_map(a.loops[level].copy(), b.loops[level].copy())));
  }
  if (carried) {
    times = times.intersect(
        isl::manage(isl_pw_aff_lt_map(a.loops[levels].copy(), b.loops[levels].copy())));
  }
  bool waits = false;
  for (const Access &before : accesses_of(first)) {
    for (const Access &after : accesses_of(second)) {
      const bool meet = before.buffer == after.buffer && (before.writes || after.writes) &&
                        !(before.atomic && after.atomic) &&
                        (with_stages || program_.buffers[before.buffer].stages == 1);
      if (waits || !meet || memory_in_kernel(before.buffer) == GpuMemory::Private) {
        continue;
      }
      const isl::map pairs = touching(a, before, b, after, true).intersect(times);
      waits = other_threads(first, before, second, after, pairs);
    }
  }
  waits_[key] = waits;
  return waits;
}

/// The kernel inside of whose loops a buffer lives.
const GpuKernel *GpuKernels::kernel_of_buffer(size_t buffer) const {
  const Buffer &declared = program_.buffers[buffer];
  const auto levels = static_cast<size_t>(declared.level);
  for (size_t s = 0; levels > 0 && s < program_.statements.size(); ++s) {
    const Statement &statement = program_.statements[s];
    if (statement.buffer != buffer || !kernel_of_[s]) {
      continue;
    }
    const GpuKernel &kernel = kernels_[*kernel_of_[s]];
    if (levels > kernel.first_level && levels < kernel.first_level + kernel.blocks) {
      throw Error(ErrorKind::Schedule,
                  declared.command + ": buffer '" + declared.name + "' would live inside loop '" +
                      statement.loop_names[levels - 1] + "' and outside of '" +
                      statement.loop_names[levels] +
                      "', both over blocks of one kernel; have it inside of both",
                  declared.where);
    }
    return levels > kernel.first_level ? &kernel : nullptr;
  }
  return nullptr;
}

std::optional<GpuMemory> GpuKernels::memory_in_kernel(size_t buffer) const {
  if (kernel_of_buffer(buffer) == nullptr) {
    return std::nullopt;
  }
  return memory_of(buffer);
}

/// There is one for each iteration of the loops around it: in one over threads, for each of them.
void GpuKernels::require_outside_threads(size_t buffer) const {
  const Buffer &declared = program_.buffers[buffer];
  for (size_t s = 0; s < program_.statements.size(); ++s) {
    const Statement &statement = program_.statements[s];
    if (statement.buffer != buffer || !kernel_of_[s]) {
      continue;
    }
    for (size_t level = 0; level < static_cast<size_t>(declared.level); ++level) {
      const LoopTag &tag = statement.tags[level];
      if (tag.tag == Tag::GpuSpread ||
          (tag.tag == Tag::GpuThread &&
           kernel_of(s)->threads.at(static_cast<size_t>(tag.axis)) > 1)) {
        throw Error(ErrorKind::Schedule,
                    declared.command + ": buffer '" + declared.name +
                        "' would be in the block's shared memory, but stands inside of " +
                        loop_text(statement, level) +
                        ", which is over threads: each would have one of its own; take "
                        "memory=\"private\", or a loop outside of that one",
                    declared.where);
      }
    }
  }
}

GpuMemory GpuKernels::memory_of(size_t buffer) const {
  if (const auto known = memory_.find(buffer); known != memory_.end()) {
    return known->second;
  }
  const Buffer &declared = program_.buffers[buffer];
  if (declared.memory == "shared") {
    require_outside_threads(buffer);
    return memory_[buffer] = GpuMemory::Shared;
  }
  // Does a thread touch what another one wrote?
  std::vector<std::pair<size_t, const Access *>> touched;
  for (size_t s = 0; s < program_.statements.size(); ++s) {
    if (!kernel_of_[s]) {
      continue;
    }
    for (const Access &access : accesses_of(s)) {
      if (access.buffer == buffer) {
        touched.emplace_back(s, &access);
      }
    }
  }
  for (const auto &[first, written] : touched) {
    for (const auto &[second, other] : touched) {
      const Statement &a = program_.statements[first];
      const Statement &b = program_.statements[second];
      if (!written->writes || !other_threads(first, *written, second, *other,
                                             touching(a, *written, b, *other, false))) {
        continue;
      }
      if (declared.memory == "auto" || declared.memory == "heap") {
        require_outside_threads(buffer);
        return memory_[buffer] = GpuMemory::Shared;
      }
      throw Error(ErrorKind::Schedule,
                  declared.command + ": buffer '" + declared.name +
                      "' cannot be each thread's own: " + b.computation->name +
                      " touches in one thread what " + a.computation->name +
                      " wrote in another; give both the same loops over threads (gpu_thread), or "
                      "take memory=\"shared\"",
                  declared.where);
    }
  }
  return memory_[buffer] = GpuMemory::Private;
}

} // namespace tilewright
