// The elementary functions as LLVM IR, for any number of lanes and any LLVM target: no library
// call, no gather, no instruction of one processor. Without fast_math every result is within one
// unit in the last place (1.1 for erf; docs/math.md has the figure of each function) and the same
// bits whatever the lane count, the schedule or the CPU. With fast_math they are shorter and may
// use fused multiply-add; NaN, infinities and zeros stay right.
//
// A function becomes one internal LLVM function for each lane count of a module, called rather than
// inlined: a body is 30 to 200 instructions, so a call costs a few per cent of its time, while
// inlining would compile the body once for each use. On a GPU, where a call passes its arguments
// through memory, the short ones are inlined. Wide vectors are cut into pieces of two registers,
// odd ones padded with their last lane.
#pragma once

#include "algorithm/expression.h"
#include "targets/llvm/lanes.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace tilewright {

/// What the functions, and the code around them, may assume of the target.
struct MathTarget {
  unsigned vector_bits = 128; ///< of one register
  bool has_fma = false;
  bool has_gathers = false;        ///< that are faster than loads one by one
  bool has_mask_registers = false; ///< a bit for each lane, up to 64 of them
  bool has_library = true;         ///< C's own fmod can be called
  bool has_exp2 = false;           ///< an instruction for 2^x of float32, within two units
  bool is_inlined = false;         ///< calls cost more than code does
};

MathTarget math_target(const llvm::TargetMachine &machine);

class MathLibrary {
public:
  MathLibrary(llvm::Module &module, MathTarget target, bool fast_math)
      : module_(module), target_(target), fast_math_(fast_math) {}

  /// op(arguments), on float or double in any number of lanes; refused where there is no code for
  /// it.
  llvm::Value *call(llvm::IRBuilder<> &builder, Op op, const std::vector<llvm::Value *> &arguments);

  /// C's fmod, likewise, exact.
  llvm::Value *remainder(llvm::IRBuilder<> &builder, llvm::Value *a, llvm::Value *b);

  /// A function that others share: `op` on exactly these lanes, without fast_math where `exact`.
  llvm::Function *function(Op op, llvm::Type *type, bool exact);

  /// For sin, cos and tan: float64 lanes -> {r, its low part, quadrant}, with the values given for
  /// the lanes where `hard` is false.
  llvm::Function *exact_reduction(llvm::Type *type);

private:
  llvm::Function *make(const std::string &name, llvm::Type *result,
                       const std::vector<llvm::Type *> &parameters);
  llvm::Function *scalar_reduction();
  llvm::Function *remainder_function(llvm::Type *type); ///< math_remainder.cpp
  unsigned largest_piece(Op op, llvm::Type *scalar) const;

  llvm::Module &module_;
  MathTarget target_;
  bool fast_math_;
};

/// The bodies, by families. `fast`: the shorter variant.
namespace math {

using lanes::Real;

Real exponential(Op op, Real x, bool fast);        ///< exp, exp2, expm1; math_exponential.cpp
Real hyperbolic(Op op, Real x, bool fast);         ///< tanh, sinh, cosh; math_hyperbolic.cpp
Real inverse_hyperbolic(Op op, Real x, bool fast); ///< arcsinh, arccosh, arctanh; the same file
Real logarithm(Op op, Real x, bool fast);          ///< log, log2, log10, log1p; math_logarithm.cpp
Real trigonometric(Op op, Real x, bool fast, MathLibrary &library); ///< sin, cos, tan
Real inverse(Op op, const std::vector<Real> &arguments); ///< arcsin, arccos, arctan, arctan2
Real error_function(Real x, bool fast);
Real power(Real x, Real y);
Real cube_root(Real x, bool fast); ///< math_root.cpp
Real hypotenuse(Real x, Real y, bool fast);

} // namespace math

} // namespace tilewright
