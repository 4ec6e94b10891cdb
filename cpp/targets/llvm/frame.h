// What is known at the point of emission: everything that belongs to the one LLVM function that is
// being filled. A function of its own (a parallel loop's, a thread's) has a frame of its own.
#pragma once

#include "loops/loop_ir.h"
#include "targets/llvm/semantics.h"

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

namespace tilewright {

/// A loop variable or Let.
struct VariableSlot {
  llvm::Value *value = nullptr;
  int depth = 0;         ///< loops around its definition: orders the parts of an address
  bool is_index = false; ///< of index arithmetic only
  int loop = -1;         ///< whose counter it is, in Frame::loops
};

/// A serial loop being emitted, and what it counts up beside its counter.
struct OpenLoop {
  /// counter * step, kept by an addition in each iteration.
  struct Multiple {
    llvm::Value *stride;
    std::int64_t factor;
    llvm::PHINode *value;
    llvm::Value *step; ///< stride * factor
  };
  llvm::Value *lower = nullptr;
  llvm::BasicBlock *before = nullptr;
  llvm::BasicBlock *body = nullptr;
  std::vector<Multiple> multiples;
};

struct LocalSlot {
  ValueType type;
  llvm::Value *re = nullptr; ///< addresses
  llvm::Value *im = nullptr;
};

struct BufferSlot {
  llvm::Value *base = nullptr;
  std::vector<llvm::Value *> strides; ///< in bytes
  llvm::MDNode *scope = nullptr;
  llvm::MDNode *others = nullptr;
  llvm::Align alignment;
};

struct Frame {
  llvm::Function *function = nullptr;
  llvm::BasicBlock *exit = nullptr;
  llvm::AllocaInst *status = nullptr;
  llvm::Value *data = nullptr;
  llvm::Value *integers = nullptr;
  llvm::Value *record = nullptr;
  /// What is left to do before the thread looks up; null in a function that never works for long.
  llvm::AllocaInst *budget = nullptr;
  std::vector<llvm::Value *> parameters;
  std::vector<BufferSlot> buffers;
  std::unordered_map<std::int64_t, VariableSlot> variables;
  std::unordered_map<std::int64_t, LocalSlot> locals;
  std::vector<OpenLoop> loops;
  std::unordered_map<const Value *, Term> known; ///< values emitted in this statement
  std::unordered_map<const Value *, int> depths; ///< the same for depth_of
  std::vector<llvm::AllocaInst *> scoped;        ///< slots of heap memory that the exit frees
  /// Of the loops around: variable, buffer, iterations ahead.
  struct Ahead {
    std::int64_t variable;
    std::int64_t buffer;
    std::int64_t distance;
  };
  std::vector<Ahead> prefetches;
  /// What has been asked for ahead: places that differ by constants, and those constants in
  /// bytes.
  std::map<std::string, std::vector<std::int64_t>> asked;
  /// On a GPU, where threads go on after failures: subscripts, and whether their last checks
  /// held.
  struct Check {
    ValuePtr value;
    llvm::AllocaInst *inside;
  };
  std::vector<Check> checks;
  llvm::AllocaInst *failed = nullptr; ///< whether the thread has; null where it would end
  /// On a GPU: of these buffers, address and strides are known to be multiples of so many bytes.
  std::map<size_t, std::uint64_t> aligned;
  int depth = 0;
  int long_loops = 0;        ///< serial loops around of any number of iterations
  std::int64_t max_runs = 1; ///< of a statement here, as far as the loops around tell
  /// Locals that end a loop around, and with it the loop's body, once they hold.
  std::vector<std::int64_t> flags;
  bool parallel = false;
  bool streams = false; ///< stores past the caches

  /// After a write or a branch: what was emitted before need not hold, or be there.
  void forget() {
    known.clear();
    depths.clear();
  }
};

} // namespace tilewright
