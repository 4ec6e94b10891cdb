// Blocks: opaque calls on whole parts of arrays (LAPACK's, an FFT), one for each instance of a
// domain. A block is several computations: the call, of which an element is what the function
// returns, and for each array that it writes a computation, whose elements are read as any are. The
// call reads parts of arrays: boxes of elements, which are all of its declared reads. What it
// writes has the instance of the call as its producer; a result that is updated starts with the
// values of another part and keeps those that the function does not write (may writes; PENCIL's
// summary functions have the same pairs of may and must accesses). Functions are pure by
// declaration, as those of extern_function.h are: what they write depends on what is declared to be
// read alone.
#pragma once

#include "algorithm/extern_function.h"
#include "algorithm/function.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tilewright {

/// An array that a block writes: of each instance the box [0, extents).
struct BlockResult {
  std::string name; ///< of the computation
  ScalarType type;
  std::vector<ExprPtr> extents; ///< affine in parameters and the instance's iterators
  ExprPtr initial = nullptr;    ///< the part that it starts with (part_of); null: all is written
};

/// What a function is given, in its order.
struct BlockArgument {
  enum class Kind { Read, Result, Number };
  Kind kind = Kind::Read;
  size_t index = 0;          ///< of the reads, the results, the numbers
  bool by_reference = false; ///< a number: its address is passed
};

/// One part as it lies in memory; strides in bytes.
struct BlockMemory {
  ScalarType type;
  void *data = nullptr;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;
  bool is_written = false;
};

struct BlockFunction {
  std::string name;
  std::vector<Range> instances;
  ExprPtr condition; ///< on parameters, under which there are calls; null for none
  std::vector<BlockResult> results;
  std::vector<BlockArgument> arguments;
  std::vector<ScalarType> numbers; ///< the types in which numbers are passed
  std::vector<size_t> read_ranks;
  std::vector<ScalarType> read_types;
  /// Code calls `address(context, words)`: of each argument a word for a number; for a part its
  /// address, extents and strides in bytes. It returns 0, or the call failed. Else code calls the
  /// function itself: a part is its address and lies without gaps, in the order of its dimensions.
  bool is_described = false;
  bool returns_code = false; ///< not described: the function returns an int, else nothing
  void *address = nullptr;
  void *context = nullptr;
  /// One call, from any thread: the parts and numbers in the order of the arguments. What it
  /// returns is an element of the call.
  std::function<std::int32_t(std::span<const BlockMemory> parts,
                             std::span<const ScalarValue> numbers)>
      run;
  /// Throws what made a described call of this process fail, if one did that was not asked for yet.
  std::function<void()> rethrow;
  std::shared_ptr<void> owner; ///< what keeps the function in memory
  SourceLocation where;
};
using BlockPtr = std::shared_ptr<const BlockFunction>;

/// All elements of a read for the values of `ranges`: the operand of a call that stands for them,
/// so that whoever asks what is read sees each. The subscripts are affine; each range is that of
/// one dimension of the part.
ExprPtr part_of(const ExprPtr &read, std::vector<ReduceRange> ranges);
/// Whether it is one.
bool is_part(const Expr &value);
/// Whether it is one, or the call or a result of a block: nothing that is computed by itself.
bool is_of_block(const Expr &value);

/// The call: an int32 computation of the block's name and domain. `numbers` are integers or floats
/// in parameters and the instance's iterators, each of its type in the block.
ComputationPtr declare_block(const BlockPtr &block, const std::vector<ExprPtr> &reads,
                             const std::vector<ExprPtr> &numbers);
/// The computation of one of the results of a call.
ComputationPtr block_result(const ComputationPtr &call, size_t result);

/// The node of a computation that is a call, or a result of one; else null.
const Expr *block_node(const Computation &computation);
/// Of such a node, the operands by what they are.
struct BlockOperands {
  std::vector<ExprPtr> reads;                ///< parts
  std::vector<ExprPtr> initial;              ///< parts, of the results; null where all is written
  std::vector<std::vector<ExprPtr>> extents; ///< of the results
  std::vector<ExprPtr> numbers;
};
BlockOperands operands_of_call(const Expr &call);
/// The call that makes a result.
ComputationPtr call_of_result(const Expr &result);

/// Is it the call of a block, or one of its results?
bool is_block_call(const Computation &computation);
bool is_block_result(const Computation &computation);

/// Error(Declaration) for blocks in iterations that data end.
void check_blocks(const Function &function);

/// The blocks of a function, by name.
std::vector<BlockPtr> blocks_of(const Function &function);
/// Error(Schedule) where it has blocks: `what` ("exported C") cannot have any.
void require_no_blocks(const Function &function, const std::string &what);

} // namespace tilewright
