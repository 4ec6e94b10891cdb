// Expressions as flat register programs for the evaluator: names are resolved to registers,
// reductions to loops, `select` to jumps (only the chosen branch is computed, so a guarded read
// never happens outside its guard). A program can stop at a read whose value is not there yet and
// be resumed at the same instruction.
#pragma once

#include "algorithm/scalar.h"

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tilewright {

enum class InstructionCode : std::uint8_t {
  Unary,
  Binary,
  Load,
  Move,
  Jump,
  JumpUnless,
  LoopTest,
  Next,
  Extremum,
  Nothing,        ///< an element is asked for that does not exist
  Check,          ///< a is no subscript of an array of extent b
  Extern,         ///< a function of C, or a block
  CountIteration, ///< of a loop without a limit: gives up after `max_iterations`
  Return
};

/// A loop without a limit that runs longer than this is taken for one that never ends.
constexpr std::int64_t max_iterations = std::int64_t{1} << 24;

/// Registers are numbered from 0; a negative number n names the constant ~n.
struct Instruction {
  InstructionCode code = InstructionCode::Return;
  std::int32_t out = 0;
  std::int32_t a = 0;
  std::int32_t b = 0;
  std::int32_t target = 0; ///< Jump, JumpUnless (a is false), LoopTest (a >= b): where to; Load:
                           ///< which read; Extern: which call; Check: which
  UnaryFunction unary = nullptr;
  BinaryFunction binary = nullptr;
};

struct InstanceRead {
  std::int32_t target = 0; ///< as the compiler's `target_of` numbered the producer
  std::vector<std::int32_t> subscripts;
  const Expr *access = nullptr;
};

/// Of the call of a block (algorithm/block.h) the arguments are, for each part that is read, the
/// bounds of its ranges; then the extents of the results and the numbers. Of a result, behind the
/// element of the call, the iterators.
struct ExternCall {
  const ExternFunction *function = nullptr; ///< null: the argument is the next element of a part
  std::vector<std::int32_t> arguments;
};

struct InstanceProgram {
  std::vector<Instruction> code;
  std::vector<ScalarValue> constants;
  std::vector<InstanceRead> reads;
  std::vector<ExternCall> calls;
  std::vector<const Expr *> checks;
  std::int32_t registers = 0; ///< the first ones hold the iterators of the instance
};

/// What is wrong with a subscript that a Check finds outside.
std::string outside_text(const Expr &check, std::int64_t subscript, std::int64_t extent);

/// Does an Extremum: slot[0] is the position, slot[1] the extremum so far, slot[2] whether there is
/// one. The first NaN wins.
void update_extremum(const Instruction &instruction, const ScalarValue &value,
                     const ScalarValue &position, ScalarValue *slot);

/// Compiles `value` for instances of a computation with these iterators. `target_of` numbers the
/// producers it meets.
InstanceProgram
compile_program(const ExprPtr &value, const std::vector<std::string> &iterators,
                const std::map<std::string, std::int64_t> &parameters,
                const std::function<std::int32_t(const ComputationPtr &)> &target_of);

} // namespace tilewright
