// The kernels of a GPU in a scheduled program, and where the threads of a block must wait for each
// other. A kernel is what shares its loops over blocks; its other loops run in every thread, but
// those over threads, of which a thread has the values that are its own number modulo the number
// of threads. That order is legal is asked before, with loops over blocks and threads as parallel
// ones; here it is kept: a barrier is needed wherever one thread may write what another touches
// later in the same block (the dependences of PPCG, section 6, asked of isl exactly).
#pragma once

#include "mapping/program.h"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

namespace tilewright {

struct GpuKernel {
  size_t first_level = 0;                       ///< its outermost loop over blocks (or threads)
  size_t blocks = 0;                            ///< loops over blocks, the outermost ones
  std::array<std::int64_t, 3> threads{1, 1, 1}; ///< x, y, z
  std::vector<size_t> statements;               ///< positions in the program
};

/// What memory a buffer inside a kernel's loops is in.
enum class GpuMemory { Shared, Private };

class GpuKernels {
public:
  /// Throws Error(Schedule) where loops over blocks and threads make no kernel: what is wrong, the
  /// loop and the computations.
  explicit GpuKernels(const Program &program);

  bool empty() const { return kernels_.empty(); }
  const std::vector<GpuKernel> &kernels() const { return kernels_; }
  /// Of the statement at this position; null where no GPU tag is on its loops.
  const GpuKernel *kernel_of(size_t statement) const;

  /// Whether, in one block, a thread touches in an instance of `second` what another one touched in
  /// an earlier instance of `first`, one of them writing. The instances agree in the `levels`
  /// outermost loops; `carried`: and that of `second` is in a later iteration of the next one.
  /// `with_stages`: also for buffers of several stages, for which passes/gpu/staged_copies.h waits.
  bool must_wait(size_t first, size_t second, size_t levels, bool carried,
                 bool with_stages = true) const;

  /// Of the statement at this position: the axes of which several threads have terms of one element
  /// of a reduction at the same time. Thread 0 along these axes updates the element with what they
  /// put together. Throws Error(Schedule) where they have terms of different elements then. No axis
  /// where updates are atomic and a loop inside goes through several elements: each thread updates.
  std::array<bool, 3> combined_axes(size_t statement) const;

  /// Where a buffer that lives inside a kernel's loops is; nothing of others. Throws
  /// Error(Schedule) where a thread would touch what is in another thread's private memory.
  std::optional<GpuMemory> memory_in_kernel(size_t buffer) const;

private:
  struct Access {
    size_t buffer = 0;
    isl::map element; ///< statement instance -> buffer[index]
    bool writes = false;
    bool atomic = false;
    bool by_any = false;   ///< which thread of a warp touches it is the code's choice
    bool by_first = false; ///< by thread 0 along the combined axes
  };
  void find_kernels();
  void check_shared_loops() const;
  void check_spread_loops() const;
  void check_places_of_copies() const;
  void check_shared_buffers() const;
  void find_threads(GpuKernel &kernel);
  void find_warps(GpuKernel &kernel) const;
  const std::vector<Access> &accesses_of(size_t statement) const;
  isl::map touching(const Statement &first, const Access &a, const Statement &second,
                    const Access &b, bool reused) const;
  bool differ_in_thread(size_t first, const Access &before, size_t second, const Access &after,
                        const isl::map &pairs) const;
  bool other_threads(size_t first, const Access &a, size_t second, const Access &b,
                     const isl::map &pairs) const;
  const GpuKernel *kernel_of_buffer(size_t buffer) const;
  void require_outside_threads(size_t buffer) const;
  GpuMemory memory_of(size_t buffer) const;

  const Program &program_;
  std::vector<GpuKernel> kernels_;
  std::vector<std::optional<size_t>> kernel_of_;
  mutable std::map<size_t, std::vector<Access>> accesses_;
  mutable std::map<size_t, std::array<bool, 3>> combined_;
  mutable std::map<std::tuple<size_t, size_t, size_t, bool, bool>, bool> waits_;
  mutable std::map<size_t, GpuMemory> memory_;
};

} // namespace tilewright
