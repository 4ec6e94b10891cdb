#include "analysis/gpu_kernels.h"

#include "analysis/gpu_tags.h"
#include "analysis/happens_before.h"
#include "analysis/mma_tiles.h"
#include "hardware/gpu.h"
#include "mapping/accesses.h"
#include "mapping/footprint.h"

#include <isl/aff.h>
#include <isl/map.h>

#include <algorithm>

namespace tilewright {

namespace {

constexpr const char *doing_gpu_kernels = "the threads of a kernel";

[[noreturn]] void refuse(const Statement &statement, const std::string &message) {
  throw Error(ErrorKind::Schedule, message, statement.mapped_at);
}

/// The outermost GPU loop; nothing where there is none.
std::optional<size_t> first_gpu_level(const Statement &statement) {
  for (size_t level = 0; level < statement.loop_names.size(); ++level) {
    if (is_gpu(statement.tags[level].tag)) {
      return level;
    }
  }
  return std::nullopt;
}

/// Whether some iteration of a loop may be both statements'.
bool may_meet(const Statement &a, const Statement &b, size_t level) {
  const isl::set one = a.domain.apply(a.loops[level].as_map());
  const isl::set other = b.domain.apply(b.loops[level].as_map());
  return !checked(one.is_disjoint(other), doing_gpu_kernels);
}

/// Whether two statements have the same loop at `level`: the same positions, and no loop outside of
/// it, by its values, keeps them apart.
bool share_loop(const Statement &a, const Statement &b, size_t level) {
  if (level >= a.loop_names.size() || level >= b.loop_names.size() ||
      !std::equal(a.order.begin(), a.order.begin() + static_cast<std::ptrdiff_t>(level) + 1,
                  b.order.begin())) {
    return false;
  }
  for (size_t outer = 0; outer < level; ++outer) {
    if (!may_meet(a, b, outer)) {
      return false;
    }
  }
  return true;
}

} // namespace

GpuKernels::GpuKernels(const Program &program)
    : program_(program), kernel_of_(program.statements.size()) {
  find_kernels();
  for (GpuKernel &kernel : kernels_) {
    find_threads(kernel);
    find_warps(kernel);
  }
  if (!kernels_.empty()) {
    check_shared_loops();
    check_spread_loops();
    check_places_of_copies();
  }
  check_shared_buffers();
}

void GpuKernels::find_kernels() {
  for (size_t s = 0; s < program_.statements.size(); ++s) {
    const Statement &statement = program_.statements[s];
    const std::optional<size_t> first = first_gpu_level(statement);
    if (!first || checked(statement.domain.is_empty(), doing_gpu_kernels)) {
      continue; // a piece that no size has leaves no loops
    }
    size_t blocks = 0;
    std::array<bool, 3> seen_blocks{};
    std::array<bool, 3> seen_threads{};
    for (size_t level = *first; level < statement.loop_names.size(); ++level) {
      const LoopTag &tag = statement.tags[level];
      if (tag.tag == Tag::GpuBlock) {
        if (level != *first + blocks) {
          refuse(statement, loop_text(statement, level) +
                                " is over blocks, but stands inside of '" +
                                statement.loop_names[level - 1] +
                                "', which is not: blocks come first, as they do not wait for each "
                                "other; bring it outside with reorder");
        }
        ++blocks;
      }
      if (tag.tag == Tag::Parallel) {
        refuse(statement, loop_text(statement, level) +
                              " is for threads of the CPU (parallelize), but stands in a GPU's "
                              "kernel; use gpu_thread");
      }
      if (tag.tag == Tag::GpuBlock || tag.tag == Tag::GpuThread) {
        bool &seen =
            (tag.tag == Tag::GpuBlock ? seen_blocks : seen_threads)[static_cast<size_t>(tag.axis)];
        if (seen) {
          refuse(statement, loop_text(statement, level) + " is the second one of " +
                                statement.computation->name + " tagged " +
                                gpu_tag_name(tag.tag, tag.axis));
        }
        seen = true;
      }
    }
    const auto same = [&](const GpuKernel &kernel) {
      const Statement &other = program_.statements[kernel.statements.front()];
      return kernel.first_level == *first && share_loop(statement, other, *first);
    };
    const auto known = std::find_if(kernels_.begin(), kernels_.end(), same);
    if (known == kernels_.end()) {
      kernel_of_[s] = kernels_.size();
      kernels_.push_back({*first, blocks, {1, 1, 1}, {s}});
      continue;
    }
    const Statement &other = program_.statements[known->statements.front()];
    const size_t shared = std::max(blocks, known->blocks);
    for (size_t level = *first; level < *first + shared; ++level) {
      if (!share_loop(statement, other, level)) {
        const bool own = level < *first + blocks;
        const Statement &inside = own ? statement : other;
        const Statement &beside = own ? other : statement;
        if (inside.computation == beside.computation && inside.role == StatementRole::Update) {
          refuse(inside,
                 loop_text(inside, level) +
                     " is over blocks, and over terms of its reduction: what stands outside of "
                     "it, such as what the sum begins with, would be done by each block; bring "
                     "that loop outside of those over the elements (reorder), so that a "
                     "kernel of its own sets it, or make it no loop over blocks");
        }
        refuse(inside, loop_text(inside, level) + " is over blocks, but " +
                           beside.computation->name +
                           ", which shares the loops outside of it, is not inside: all of a "
                           "kernel runs in all of its blocks; share that loop too, or none");
      }
    }
    kernel_of_[s] = static_cast<size_t>(known - kernels_.begin());
    known->statements.push_back(s);
  }
}

/// All that share a loop agree on whether it is over blocks or threads, and over which.
void GpuKernels::check_shared_loops() const {
  const std::vector<Statement> &statements = program_.statements;
  for (size_t a = 0; a < statements.size(); ++a) {
    for (size_t b = a + 1; b < statements.size(); ++b) {
      const Statement &first = statements[a];
      const Statement &second = statements[b];
      for (size_t level = 0; share_loop(first, second, level); ++level) {
        const LoopTag &one = first.tags[level];
        const LoopTag &other = second.tags[level];
        if ((is_gpu(one.tag) || is_gpu(other.tag)) &&
            (one.tag != other.tag || one.axis != other.axis)) {
          const Statement &tagged = is_gpu(one.tag) ? first : second;
          const Statement &rest = is_gpu(one.tag) ? second : first;
          const LoopTag &tag = tagged.tags[level];
          refuse(tagged, loop_text(tagged, level) + " is " + gpu_tag_name(tag.tag, tag.axis) +
                             ", but " + rest.computation->name +
                             " shares it and has another tag "
                             "there; give both the same");
        }
      }
    }
  }
}

void GpuKernels::find_threads(GpuKernel &kernel) {
  std::array<std::string, 3> named;
  for (const size_t s : kernel.statements) {
    const Statement &statement = program_.statements[s];
    for (size_t axis = 0; axis < 3; ++axis) {
      const std::optional<size_t> level = thread_level(statement, static_cast<int>(axis));
      if (!level) {
        continue;
      }
      const std::int64_t width = constant_width(statement, *level, *level);
      if (width == 0) {
        refuse(statement, loop_text(statement, *level) +
                              " is over threads, but has no constant extent; split it first, e.g. "
                              "gpu_tile");
      }
      if (width > kernel.threads[axis]) {
        kernel.threads[axis] = width;
        named[axis] = loop_text(statement, *level);
      }
    }
  }
  const auto &[x, y, z] = kernel.threads;
  const Statement &first = program_.statements[kernel.statements.front()];
  if (z > max_threads_in_z) {
    refuse(first, named[2] + " has " + std::to_string(z) + " iterations, but a block has at most " +
                      std::to_string(max_threads_in_z) + " threads along z");
  }
  if (x > max_threads_in_block || y > max_threads_in_block || x * y * z > max_threads_in_block) {
    refuse(first, "a block of the kernel of " + first.computation->name + " would have " +
                      std::to_string(x) + " x " + std::to_string(y) + " x " + std::to_string(z) +
                      " threads, more than " + std::to_string(max_threads_in_block) +
                      "; take smaller tiles");
  }
}

/// A loop that is dealt out to all threads leaves none over.
void GpuKernels::check_spread_loops() const {
  for (size_t s = 0; s < program_.statements.size(); ++s) {
    const Statement &statement = program_.statements[s];
    if (!kernel_of_[s] || !has_spread(statement)) {
      continue;
    }
    // A buffer inside of a loop over threads has no business there: memory_of.
    const auto outside = static_cast<size_t>(program_.buffers[statement.buffer].level);
    for (size_t level = outside; level < statement.loop_names.size(); ++level) {
      const LoopTag &tag = statement.tags[level];
      if (tag.tag == Tag::GpuThread || tag.tag == Tag::GpuMma) {
        refuse(statement, loop_text(statement, level) + " is " + gpu_tag_name(tag.tag, tag.axis) +
                              ", but another loop of " + statement.computation->name +
                              " is dealt out to all threads (gpu_spread); tag both the same");
      }
    }
  }
}

/// compute_at makes a value wherever it is read. Blocks and threads that make the same one each
/// need a place of their own for it.
void GpuKernels::check_places_of_copies() const {
  for (size_t s = 0; s < program_.statements.size(); ++s) {
    const Statement &statement = program_.statements[s];
    if (!kernel_of_[s] || statement.replicas == 0) {
      continue;
    }
    const Access &written = accesses_of(s).front();
    const isl::map meet = touching(statement, written, statement, written, false);
    const isl::map others = meet.subtract(same_replica(meet, statement.replicas));
    for (const UnorderedPairs &pairs :
         not_before(program_, statement, statement, checked(others, doing_gpu_kernels))) {
      const auto level = static_cast<size_t>(pairs.level);
      if (!pairs.concurrent || !is_gpu(statement.tags[level].tag) ||
          memory_in_kernel(statement.buffer) == GpuMemory::Private) {
        continue;
      }
      refuse(statement, statement.computation->name + " is computed in several iterations of " +
                            loop_text(statement, level) + ", which is " +
                            gpu_tag_name(statement.tags[level].tag, statement.tags[level].axis) +
                            ", and they write one element; give each its own with store_at, in "
                            "that loop");
    }
  }
}

/// Shared memory is a block's.
void GpuKernels::check_shared_buffers() const {
  for (size_t b = 0; b < program_.buffers.size(); ++b) {
    const Buffer &declared = program_.buffers[b];
    if (declared.memory != "shared" || declared.level == 0 || kernel_of_buffer(b) != nullptr) {
      continue;
    }
    for (const Statement &statement : program_.statements) {
      if (statement.buffer == b) {
        throw Error(ErrorKind::Schedule,
                    declared.command + ": buffer '" + declared.name +
                        "' would be in the shared memory of a block, but loop '" +
                        statement.loop_names[static_cast<size_t>(declared.level) - 1] +
                        "' is in no kernel, as neither it nor a loop outside of it is over blocks "
                        "or threads; give it gpu_block, or take memory=\"auto\"",
                    declared.where);
      }
    }
  }
}

/// Where warps have tiles, the threads along x are one.
void GpuKernels::find_warps(GpuKernel &kernel) const {
  for (const size_t s : kernel.statements) {
    const Statement &statement = program_.statements[s];
    const std::optional<MmaLoops> loops = mma_loops(statement);
    if (!loops) {
      continue;
    }
    if (kernel.threads[0] > warp_size) {
      refuse(statement, statement.computation->name +
                            " has tiles of a warp (gpu_mma), whose 32 threads are those along x, "
                            "but the kernel has " +
                            std::to_string(kernel.threads[0]) +
                            " along x; give loops over threads of the others at most 32 there");
    }
    kernel.threads[0] = warp_size;
    if (thread_level(statement, 0)) {
      refuse(statement, loop_text(statement, *thread_level(statement, 0)) +
                            " is over threads along x, which have the tiles of " +
                            statement.computation->name +
                            " (gpu_mma); take y and z, with "
                            "gpu_thread after gpu_mma");
    }
    if (loops->sum) {
      mma_shape(statement);
    }
  }
  const auto &[x, y, z] = kernel.threads;
  if (x * y * z > max_threads_in_block) {
    refuse(program_.statements[kernel.statements.front()],
           "a block would have " + std::to_string(y * z) + " warps of 32 threads, more than " +
               std::to_string(max_threads_in_block) + " threads; take fewer");
  }
}

const GpuKernel *GpuKernels::kernel_of(size_t statement) const {
  const std::optional<size_t> &kernel = kernel_of_.at(statement);
  return kernel ? &kernels_[*kernel] : nullptr;
}

} // namespace tilewright
