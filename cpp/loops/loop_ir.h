// The one loop IR: small, typed, printable; the only thing that targets see. Values are trees over
// index variables, parameters, loads and the operations of Layer I (same semantics,
// algorithm/expression.h), on scalars or on vectors of lanes; statements are loops, conditions,
// stores and locals. Built by lower.h, rewritten by the passes in passes/passes.h, printed for
// people by print_loop_ir.
#pragma once

#include "algorithm/expression.h"
#include "mapping/mapping.h"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tilewright {

struct ValueType {
  ScalarType scalar;
  int lanes = 1;
  bool operator==(const ValueType &) const = default;
};

enum class ValueKind {
  Constant,
  Variable,  ///< a loop variable or a Let: int64 scalar
  Parameter, ///< int64 scalar, by position in Kernel::parameters
  Local,     ///< a mutable local declared by DeclareLocal
  Load,      ///< buffer[subscripts], one element or `lanes` of them
  Unary,
  Binary,
  Call,
  Cast,
  Select,
  Ramp, ///< operands[0] + stride * (lane / inner) + inner_stride * (lane % inner), int64 vector
  Broadcast, ///< operands[0] in every lane
  Masked,    ///< operands[1], a load, in the lanes where operands[0] holds; anything elsewhere
  Reduce,    ///< the lanes of operands[0] combined by `op`, in any order
  /// In a Launch: the block's number for `id` 0, 1, 2 (x, y, z), the thread's for 3, 4, 5.
  GpuIndex,
  /// In a Launch, which all threads of a warp come to: the thread's four sums of a tile, four
  /// lanes. `id` is the MmaShape; operands: what the thread has of the two factors and of the sums
  /// before.
  Mma,
  Lane, ///< lane `id` of operands[0]
  /// In a Launch, which all threads of a warp come to: of matrices of 8 x 8 elements of two bytes
  /// in buffer `id`, which is shared memory, two neighbours each, in as many lanes. The operands
  /// are subscripts: where row t % 8 of matrix t / 8 begins, of eight elements side by side, on 16
  /// bytes. Thread t has those of row t / 4 in columns 2 * (t % 4) and the next one; `inner_stride`
  /// 1: of the transposed matrices.
  Matrices,
  /// In a Launch, where all threads of a warp come: operands[0] of the one whose number differs in
  /// the bits `id`.
  Shuffle,
  /// In a Launch: whether the address of buffer `id` and its strides that are no constants, but
  /// that of its unit dimension, are multiples of `inner` bytes.
  Aligned
};

struct Value;
using ValuePtr = std::shared_ptr<const Value>;

struct Value {
  ValueKind kind;
  ValueType type;
  std::vector<ValuePtr>
      operands; ///< Load: the subscripts (int64, scalar or vector). Select: condition, then, else
  Op op = Op::None;
  ConstantValue constant{};
  std::int64_t id =
      0; ///< Variable and Local: unique number; Parameter: position; Load: buffer; Ramp: stride
  /// Ramp: the lanes of two loops, the inner one of which has `inner` iterations.
  int inner = 1;
  std::int64_t inner_stride = 0;
  std::string name; ///< for printing
};

enum class StatementKind {
  Block,        ///< children in order
  For,          ///< variable in [lower, upper), step 1
  While,        ///< children[0] again and again, as long as `value` holds before it
  If,           ///< children[0], and children[1] when present
  Store,        ///< buffer[subscripts] = value
  AtomicUpdate, ///< buffer[subscripts] = op(buffer[subscripts], value), in one step for all threads
  Let,          ///< variable = value for the statements after it in the block
  DeclareLocal, ///< a mutable local with its first value
  AssignLocal,
  Allocate,   ///< children[0] with memory for `buffer`, which is there only inside
  CheckIndex, ///< fails with code 1 and `site` when value < 0 or value >= upper, in any lane
  CheckValue, ///< fails with code 4 and `site` when `value` holds, in any lane
  Timed,      ///< children[0], whose time is added to that of nest `id`
  /// children[0] in each thread of a grid of blocks on a GPU. Its GPU loops say of themselves which
  /// iterations a thread has; after map_launches there are none, and `subscripts` is the grid.
  Launch,
  Barrier, ///< all threads of the block wait here for each other
  /// A Store of a Load to shared memory that the thread does not wait for: what is stored is there
  /// after a WaitForCopies, and until then nobody may touch it. In a Launch, after map_launches.
  CopyAsync,
  CommitCopies, ///< what the thread copies since the last one is a group
  WaitForCopies ///< for all groups of the thread but the last `id`
};

enum class LoopKind {
  Serial,
  Parallel,
  Vector,
  MaskedVector, ///< a Vector loop of fewer iterations than lanes
  Unrolled,
  GpuBlock,  ///< in a Launch: blocks have an iteration each, along `axis`
  GpuThread, ///< in a Launch: thread t has the iterations t modulo the threads along `axis`
  GpuSpread, ///< in a Launch: dealt out to all threads, with the GpuSpread loop that is its body
  GpuMma     ///< in a Launch: of a tile that a warp has together; `axis` as LoopTag has it
};

/// How a Parallel loop runs (mapping.h says what the words mean).
struct ParallelSchedule {
  Dealing dealing = Dealing::Static;
  std::int64_t chunk = 0;
  bool joined = false; ///< runs as one with the Parallel loop of which it is the body
};

struct LoopStatement;
using StmtPtr = std::shared_ptr<const LoopStatement>;

struct LoopStatement {
  StatementKind kind;
  std::vector<StmtPtr> children;
  std::int64_t id =
      0; ///< For, Let: variable; DeclareLocal, AssignLocal: local; Check...: site; Timed: nest
  std::string name; ///< of that variable or local
  ValuePtr lower;   ///< For
  ValuePtr upper;   ///< For, CheckIndex
  ValuePtr value;   ///< If, While, CheckValue: condition; Store, AtomicUpdate, Let, DeclareLocal,
                    ///< AssignLocal, CheckIndex
  LoopKind loop = LoopKind::Serial; ///< For
  std::int64_t factor = 0; ///< For: lanes of a Vector loop, largest extent of an Unrolled one
  /// For: what loads in an iteration read of a buffer is asked for so many iterations ahead.
  std::vector<std::pair<std::int64_t, std::int64_t>> prefetches;
  ParallelSchedule parallel;                    ///< For: of a Parallel loop
  int axis = 0;                                 ///< For: of a GPU's loop, as LoopTag has it
  std::array<std::int64_t, 3> threads{1, 1, 1}; ///< Launch: in a block, along x, y and z
  std::int64_t buffer = 0;                      ///< Store, AtomicUpdate, Allocate
  std::vector<ValuePtr> subscripts; ///< Store, AtomicUpdate; Check...: what is reported besides
  /// AtomicUpdate. Store: the element itself is the left operand of `value`, op(element, x), one of
  /// the terms of a reduction, which may be combined in any order.
  Op op = Op::None;
  ValuePtr mask; ///< Store, Check...: the lanes that take part; null for all
  /// AtomicUpdate: threads along these axes of a Launch have terms of one element at the same time.
  /// They put them together first (thread_reductions.h), and one of them updates the element: in
  /// one step where it `is_atomic`, as other blocks may, too. The value may be wider than the
  /// element then.
  std::array<bool, 3> combines{};
  bool is_atomic = true;
};

/// What is known of an array's strides before its kernel is compiled.
struct ArrayLayout {
  int unit = -1;  ///< the dimension whose stride is the item size; -1 when none is known to be
  int packed = 0; ///< so many dimensions before the last one, which is `unit`, lie without gaps
                  ///< around inner dimensions of constant extents: their strides are constants
  bool operator==(const ArrayLayout &) const = default;
};

/// An array argument or a temporary of the kernel.
struct KernelBuffer {
  std::string name;
  ScalarType type;
  bool is_argument = true;
  bool is_written = false;
  bool is_streamed = false; ///< stores go past the caches
  bool is_scoped = false;   ///< a temporary of an Allocate instead of the whole kernel
  /// Scoped: "auto", "registers", "stack" or "heap"; in a Launch "shared" or "private".
  std::string memory = "auto";
  int stages = 1;         ///< of shared memory: so many of it, for copies ahead (staged_copies.h)
  std::string stage_loop; ///< the name of the loop in whose iterations they take turns
  std::string command;    ///< scoped: what put it there, for messages
  SourceLocation where;   ///< of that command
  Record record;          ///< temporaries of the whole kernel
  std::vector<ValuePtr> extents; ///< over Parameters only
  ArrayLayout layout;
};

/// A read whose element and value are reported: whether it happened, subscripts, value.
struct ReportedRead {
  std::string array;
  int rank = 0;
  bool is_complex = false; ///< two numbers

  bool operator==(const ReportedRead &) const = default;
};

/// What a check at run time reports.
struct IndexSite {
  std::string text; ///< "A[idx[i]]"
  std::string array;
  int dimension = 0;
  bool is_unsigned = false; ///< the subscript is of uint64: what fails below 0 is 2**63 or more
  /// Of checks that were asked for (instrumentation.h): whose instance fails; else empty.
  std::string computation = {};
  std::vector<std::string> iterators = {}; ///< of the instance, which is reported: its own first
  int rank = 0;                            ///< so many of them are the computation's
  int piece = 0;                           ///< of the computation
  std::string memory = {};                 ///< the buffer, where it is not the array's own
  bool writes = false;
  bool is_complex = false;              ///< CheckValue: the value, reported after the instance
  std::vector<ReportedRead> reads = {}; ///< CheckValue: reported after that
};

/// An outermost loop nest whose time is taken.
struct TimedNest {
  std::vector<std::string> statements; ///< of the program, in order of first use
};

struct Kernel {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<KernelBuffer>
      buffers; ///< arguments first, in argument order, then temporaries (row-major, contiguous)
  std::vector<IndexSite> sites;
  std::vector<TimedNest> nests;
  bool is_gpu = false; ///< what touches arrays does so in launches
  StmtPtr body;
};

/// Pseudo-code of the kernel: Python-like loops with their tags.
std::string print_loop_ir(const Kernel &kernel);
/// One element in the same spelling: "A[i, 8 * j : 8 * j + 8]".
std::string print_element(const Kernel &kernel, std::int64_t buffer,
                          const std::vector<ValuePtr> &subscripts);

} // namespace tilewright
