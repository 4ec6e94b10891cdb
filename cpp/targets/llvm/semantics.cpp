// The dispatch of operations on scalar kinds.
#include "targets/llvm/semantics.h"

#include <llvm/IR/Intrinsics.h>

namespace tilewright {

Semantics::Semantics(llvm::IRBuilder<> &builder, llvm::Module &module, const EmitOptions &options,
                     MathTarget target)
    : builder_(builder), module_(module), options_(options),
      math_(module, target, options.fast_math), branches_(!target.is_inlined) {
  if (options.fast_math) {
    llvm::FastMathFlags flags;
    flags.setAllowReassoc();
    flags.setAllowContract(true);
    flags.setAllowReciprocal();
    flags.setApproxFunc();
    flags.setNoSignedZeros();
    builder_.setFastMathFlags(flags);
  }
}

Term Semantics::binary(Op op, ValueType operand, ValueType result, const Term &a, const Term &b) {
  const ScalarType type = operand.scalar;
  if (type.is_complex()) {
    return complex_binary(op, a, b);
  }
  Term term;
  if (type.is_bool()) {
    term.re = bool_binary(op, a.re, b.re);
  } else if (type.is_integer()) {
    term.re = integer_binary(op, type, a.re, b.re);
  } else {
    term.re = float_binary(op, widen(a.re, type), widen(b.re, type));
    if (!result.scalar.is_bool()) {
      term.re = narrow(term.re, result.scalar);
    }
  }
  return term;
}

Term Semantics::unary(Op op, ValueType operand, ValueType result, const Term &a) {
  return call(op, operand, result, {a});
}

Term Semantics::call(Op op, ValueType operand, ValueType result,
                     const std::vector<Term> &arguments) {
  const ScalarType type = operand.scalar;
  const Term &a = arguments[0];
  Term term;
  if (op == Op::MakeComplex) {
    term.re = a.re;
    term.im =
        arguments.size() > 1 ? arguments[1].re : llvm::Constant::getNullValue(a.re->getType());
    return term;
  }
  if (type.is_complex()) {
    return complex_call(op, arguments);
  }
  if (type.is_floating()) {
    if (op == Op::Neg || op == Op::Abs) {
      // Exact, and on the sign bit alone for the narrow types.
      if (type.kind == TypeKind::BFloat) {
        llvm::Type *i16 = a.re->getType();
        term.re = op == Op::Neg ? builder_.CreateXor(a.re, llvm::ConstantInt::get(i16, 0x8000))
                                : builder_.CreateAnd(a.re, llvm::ConstantInt::get(i16, 0x7fff));
      } else {
        term.re = float_call(op, {a.re});
      }
      return term;
    }
    std::vector<llvm::Value *> wide;
    wide.reserve(arguments.size());
    for (const Term &argument : arguments) {
      wide.push_back(widen(argument.re, type));
    }
    term.re = float_call(op, wide);
    if (!result.scalar.is_bool()) {
      term.re = narrow(term.re, result.scalar);
    }
    return term;
  }
  // bool and integers
  if (arguments.size() == 2) {
    return binary(op, operand, result, a, arguments[1]);
  }
  term.re = integer_call(op, type, result.lanes, a.re);
  return term;
}

} // namespace tilewright
