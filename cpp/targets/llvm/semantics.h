// What each operation of Layer I means in LLVM IR, on scalars and on vectors: NumPy's arithmetic on
// every scalar type. Knows neither loops nor buffers. float16 and bfloat16 are computed in float32
// and rounded after each operation; a complex value is a pair of (vectors of) real components, so
// that vectors of complex numbers need nothing special.
#pragma once

#include "loops/loop_ir.h"
#include "targets/llvm/emitter.h"
#include "targets/llvm/math.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <string>
#include <vector>

namespace tilewright {

/// A value in registers: bool is i1, bfloat16 is i16, complex has both parts, all others only `re`.
struct Term {
  llvm::Value *re = nullptr;
  llvm::Value *im = nullptr;
};

/// Of one component, in a register.
llvm::Type *register_type(llvm::LLVMContext &context, ScalarType type, int lanes);
/// Of one component, in memory (bool is a byte).
llvm::Type *memory_type(llvm::LLVMContext &context, ScalarType type, int lanes);

class Semantics {
public:
  Semantics(llvm::IRBuilder<> &builder, llvm::Module &module, const EmitOptions &options,
            MathTarget target);

  Term constant(const ConstantValue &value, ValueType type);
  Term splat(const Term &term, int lanes);
  Term lane(const Term &term, int index);
  Term with_lane(const Term &vector, const Term &element, int index);
  Term poison(ValueType type);

  Term unary(Op op, ValueType operand, ValueType result, const Term &a);
  Term binary(Op op, ValueType operand, ValueType result, const Term &a, const Term &b);
  Term call(Op op, ValueType operand, ValueType result, const std::vector<Term> &arguments);
  Term cast(const Term &term, ValueType from, ValueType to);
  Term select(llvm::Value *condition, const Term &then, const Term &otherwise);
  /// Of integers: whether the remainder of a by b is 0, which it is of b = 0, too.
  llvm::Value *divides(ScalarType type, llvm::Value *a, llvm::Value *b);

private:
  // convert.cpp
  llvm::Value *real_constant(const ConstantValue &value, ScalarType type, bool imaginary);
  llvm::Value *widen(llvm::Value *value,
                     ScalarType type); ///< float16 or bfloat16 -> float32; others as they are
  llvm::Value *narrow(llvm::Value *value, ScalarType type); ///< back, rounding to nearest even
  llvm::Value *bfloat_to_float(llvm::Value *value);
  llvm::Value *float_to_bfloat(llvm::Value *value);
  llvm::Value *real_cast(llvm::Value *value, ScalarType from, ScalarType to, int lanes);

  // integer.cpp
  llvm::Value *bool_binary(Op op, llvm::Value *a, llvm::Value *b);
  llvm::Value *integer_binary(Op op, ScalarType type, llvm::Value *a, llvm::Value *b);
  llvm::Value *integer_call(Op op, ScalarType type, int lanes, llvm::Value *a); ///< bool, too
  llvm::Value *count_bits(Op op, ScalarType type, llvm::Value *a);
  llvm::Value *integer_divide(Op op, ScalarType type, llvm::Value *a, llvm::Value *b);
  /// By -1 and 0 apart, behind a branch that is hardly ever taken.
  llvm::Value *divide_by_branch(Op op, ScalarType type, llvm::Value *a, llvm::Value *b);
  llvm::Value *divide_unguarded(Op op, ScalarType type, llvm::Value *a, llvm::Value *b);
  llvm::Value *integer_power(ScalarType type, llvm::Value *base, llvm::Value *exponent);
  llvm::Value *shift(Op op, ScalarType type, llvm::Value *a, llvm::Value *b);

  // float.cpp: on float and double
  llvm::Value *float_binary(Op op, llvm::Value *a, llvm::Value *b);
  llvm::Value *float_divide(Op op, llvm::Value *a, llvm::Value *b);
  llvm::Value *float_power(llvm::Value *base, llvm::Value *exponent);
  llvm::Value *power_by_products(llvm::Value *base, int factors); ///< of float; scalar.h
  llvm::Value *float_call(Op op, const std::vector<llvm::Value *> &arguments);
  llvm::Value *float_extremum(Op op, llvm::Value *a, llvm::Value *b);
  llvm::Value *is_nan(llvm::Value *value);
  llvm::Value *float_lanes_to_integers(llvm::Value *value, ScalarType to, llvm::Type *target);

  // complex.cpp
  Term complex_binary(Op op, const Term &a, const Term &b);
  Term complex_divide(const Term &a, const Term &b);
  llvm::Value *complex_less(const Term &a, const Term &b, bool or_equal);
  Term complex_call(Op op, const std::vector<Term> &arguments);
  Term complex_library_call(const std::string &name, const std::vector<Term> &arguments);

  llvm::FunctionCallee declare(const std::string &name, llvm::Type *result,
                               const std::vector<llvm::Type *> &parameters, bool touches_arguments);

  llvm::IRBuilder<> &builder_;
  llvm::Module &module_;
  const EmitOptions &options_;
  MathLibrary math_;
  bool branches_; ///< where a branch that goes as expected costs nothing
};

} // namespace tilewright
