// Complex arithmetic on pairs: NumPy's formulas for the operators (Smith's division), the library's
// functions for the rest, one lane at a time.
#include "targets/llvm/semantics.h"

#include <llvm/IR/Intrinsics.h>

namespace tilewright {

Term Semantics::complex_divide(const Term &a, const Term &b) {
  llvm::Type *type = a.re->getType();
  auto magnitude = [&](llvm::Value *x) {
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  };
  llvm::Value *real_larger = builder_.CreateFCmpOGE(magnitude(b.re), magnitude(b.im));
  llvm::Value *larger = builder_.CreateSelect(real_larger, b.re, b.im);
  llvm::Value *smaller = builder_.CreateSelect(real_larger, b.im, b.re);
  llvm::Value *ratio = builder_.CreateFDiv(smaller, larger);
  llvm::Value *denominator = builder_.CreateFAdd(larger, builder_.CreateFMul(smaller, ratio));
  llvm::Value *scale = builder_.CreateFDiv(llvm::ConstantFP::get(type, 1.0), denominator);
  llvm::Value *re_ratio = builder_.CreateFMul(a.re, ratio);
  llvm::Value *im_ratio = builder_.CreateFMul(a.im, ratio);
  llvm::Value *re = builder_.CreateSelect(real_larger, builder_.CreateFAdd(a.re, im_ratio),
                                          builder_.CreateFAdd(re_ratio, a.im));
  llvm::Value *im = builder_.CreateSelect(real_larger, builder_.CreateFSub(a.im, re_ratio),
                                          builder_.CreateFSub(im_ratio, a.re));
  llvm::Value *zero = llvm::Constant::getNullValue(type);
  llvm::Value *by_zero =
      builder_.CreateAnd(builder_.CreateFCmpOEQ(b.re, zero), builder_.CreateFCmpOEQ(b.im, zero));
  Term result;
  llvm::Value *positive_zero = magnitude(b.re);
  result.re = builder_.CreateSelect(by_zero, builder_.CreateFDiv(a.re, positive_zero),
                                    builder_.CreateFMul(re, scale));
  result.im = builder_.CreateSelect(by_zero, builder_.CreateFDiv(a.im, positive_zero),
                                    builder_.CreateFMul(im, scale));
  return result;
}

llvm::Value *Semantics::complex_less(const Term &a, const Term &b, bool or_equal) {
  // Lexicographic, false where a NaN decides.
  llvm::Value *im_known = builder_.CreateFCmpORD(a.im, b.im);
  llvm::Value *re_less = builder_.CreateAnd(builder_.CreateFCmpOLT(a.re, b.re), im_known);
  llvm::Value *im_less =
      or_equal ? builder_.CreateFCmpOLE(a.im, b.im) : builder_.CreateFCmpOLT(a.im, b.im);
  return builder_.CreateOr(re_less,
                           builder_.CreateAnd(builder_.CreateFCmpOEQ(a.re, b.re), im_less));
}

Term Semantics::complex_binary(Op op, const Term &a, const Term &b) {
  Term result;
  switch (op) {
  case Op::Add:
    result.re = builder_.CreateFAdd(a.re, b.re);
    result.im = builder_.CreateFAdd(a.im, b.im);
    return result;
  case Op::Sub:
    result.re = builder_.CreateFSub(a.re, b.re);
    result.im = builder_.CreateFSub(a.im, b.im);
    return result;
  case Op::Mul:
    result.re =
        builder_.CreateFSub(builder_.CreateFMul(a.re, b.re), builder_.CreateFMul(a.im, b.im));
    result.im =
        builder_.CreateFAdd(builder_.CreateFMul(a.re, b.im), builder_.CreateFMul(a.im, b.re));
    return result;
  case Op::TrueDiv:
    return complex_divide(a, b);
  case Op::Pow:
    return complex_library_call("pow", {a, b});
  case Op::Min:
  case Op::Max: {
    llvm::Value *first = op == Op::Min ? complex_less(a, b, true) : complex_less(b, a, true);
    llvm::Value *unknown = builder_.CreateFCmpUNO(a.re, a.im);
    return select(builder_.CreateOr(first, unknown), a, b);
  }
  case Op::Lt:
    result.re = complex_less(a, b, false);
    return result;
  case Op::Le:
    result.re = complex_less(a, b, true);
    return result;
  case Op::Gt:
    result.re = complex_less(b, a, false);
    return result;
  case Op::Ge:
    result.re = complex_less(b, a, true);
    return result;
  case Op::Eq:
    result.re =
        builder_.CreateAnd(builder_.CreateFCmpOEQ(a.re, b.re), builder_.CreateFCmpOEQ(a.im, b.im));
    return result;
  case Op::Ne:
    result.re =
        builder_.CreateOr(builder_.CreateFCmpUNE(a.re, b.re), builder_.CreateFCmpUNE(a.im, b.im));
    return result;
  default:
    throw Error(ErrorKind::Internal,
                "an operation that is not defined on complex numbers reached the CPU target");
  }
}

Term Semantics::complex_library_call(const std::string &name, const std::vector<Term> &arguments) {
  llvm::Type *type = arguments[0].re->getType();
  llvm::Type *scalar = type->getScalarType();
  const std::string symbol =
      std::string("tilewright_complex") + (scalar->isFloatTy() ? "64_" : "128_") + name;
  llvm::PointerType *pointer = builder_.getPtrTy();
  const auto function = declare(symbol, builder_.getVoidTy(), {pointer}, true);
  // The function finds its operands in a small array and leaves its result at the front.
  llvm::ArrayType *array = llvm::ArrayType::get(scalar, 4);
  llvm::BasicBlock &entry = builder_.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_entry(&entry, entry.begin());
  llvm::AllocaInst *slots = at_entry.CreateAlloca(array);
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  const int lanes = vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
  Term result;
  result.re = llvm::PoisonValue::get(type);
  result.im = llvm::PoisonValue::get(type);
  for (int k = 0; k < lanes; ++k) {
    unsigned slot = 0;
    for (const Term &argument : arguments) {
      const Term element = lane(argument, k);
      builder_.CreateStore(element.re,
                           builder_.CreateConstInBoundsGEP2_32(array, slots, 0, slot++));
      builder_.CreateStore(element.im,
                           builder_.CreateConstInBoundsGEP2_32(array, slots, 0, slot++));
    }
    builder_.CreateCall(function, {slots});
    Term element;
    element.re =
        builder_.CreateLoad(scalar, builder_.CreateConstInBoundsGEP2_32(array, slots, 0, 0));
    element.im =
        builder_.CreateLoad(scalar, builder_.CreateConstInBoundsGEP2_32(array, slots, 0, 1));
    result = with_lane(result, element, k);
  }
  return result;
}

Term Semantics::complex_call(Op op, const std::vector<Term> &arguments) {
  const Term &a = arguments[0];
  Term result;
  switch (op) {
  case Op::Neg:
    result.re = builder_.CreateFNeg(a.re);
    result.im = builder_.CreateFNeg(a.im);
    return result;
  case Op::Conj:
    result.re = a.re;
    result.im = builder_.CreateFNeg(a.im);
    return result;
  case Op::Real:
    result.re = a.re;
    return result;
  case Op::Imag:
    result.re = a.im;
    return result;
  case Op::Abs:
    result.re = math_.call(builder_, Op::Hypot, {a.re, a.im});
    return result;
  case Op::Isnan:
    result.re = builder_.CreateFCmpUNO(a.re, a.im);
    return result;
  case Op::Rint:
    result.re = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, a.re);
    result.im = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, a.im);
    return result;
  default:
    break;
  }
  if (arguments.size() == 2) {
    return complex_binary(op, a, arguments[1]);
  }
  if (operation(op).operands != OperandRule::Math) {
    throw Error(ErrorKind::Internal,
                "a function that is not defined on complex numbers reached the CPU target");
  }
  return complex_library_call(op_name(op), arguments);
}

} // namespace tilewright
