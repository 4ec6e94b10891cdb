// What follows from the shapes, strides and given parameters of a call alone: sizes, strides and
// kernel. A function keeps the plans of its latest kinds of calls, so that a call like an earlier
// one solves and checks nothing again.
#pragma once

#include "bindings/array_memory.h"
#include "compiler/compiler.h"
#include "mapping/mapping.h"

#include <llvm/ADT/SmallVector.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// For each argument the dimension whose stride is one item, or -1: what a kernel is compiled for.
using Layouts = llvm::SmallVector<ArrayLayout, 8>;

/// What a kernel is compiled for.
struct KernelCase {
  Layouts layouts;
  TargetSelection target;
  std::vector<SharedArray> shared = {};           ///< arrays of the call that share memory
  std::map<std::string, std::int64_t> sizes = {}; ///< of narrow arrays (narrow_sizes())

  bool operator==(const KernelCase &) const = default;
};

/// A written array and another one whose bytes lie between each other's, and how far apart they
/// begin.
struct Overlap {
  size_t written = 0;
  size_t other = 0;
  std::ptrdiff_t distance = 0;
  bool operator==(const Overlap &) const = default;
};
using Overlaps = llvm::SmallVector<Overlap, 4>;

struct CallPlan {
  /// The shapes and strides of what was given, and given parameters; compared by `fits`.
  std::vector<std::int64_t> key;
  /// What kernels take: parameters, then strides.
  std::vector<std::int64_t> integers;
  std::vector<ByteSpan> spans; ///< by argument
  /// The shapes of the outputs that the call makes, one after the other.
  std::vector<std::int64_t> fresh_shapes;
  /// Whatever the sizes are, and for such `sizes` as deserve a kernel of their own.
  Layouts layouts;
  Layouts layouts_of_sizes;
  std::map<std::string, std::int64_t> sizes;
  /// No written array has elements. A kernel would still run through its outer loops.
  bool writes_nothing = false;
  /// Null until a call needs it, and then the same for good: threads run it while they hold the
  /// plan.
  std::shared_ptr<const CompiledKernel> kernel;

  /// The latest overlaps of such a call, which say with the shapes how its arrays share memory, and
  /// the kernel for them (null: the plain one).
  Overlaps overlaps;
  std::shared_ptr<const CompiledKernel> overlaps_kernel;

  bool fits(const BoundCall &call) const;
};

/// The key of a call whose arguments are bound.
std::vector<std::int64_t> plan_key(const BoundCall &call);

/// The plans of the latest kinds of calls, the latest first.
class CallPlans {
public:
  /// Null where no call was like this one.
  std::shared_ptr<CallPlan> find(const BoundCall &call);
  void remember(std::shared_ptr<CallPlan> plan);
  /// Null before the first.
  const CallPlan *latest() const { return plans_.front().get(); }
  void clear() { plans_.fill(nullptr); }

private:
  std::array<std::shared_ptr<CallPlan>, 4> plans_;
};

} // namespace tilewright
