// Arithmetic on bool and integers, as NumPy has it: wrapping, floor division, shifts of any amount.
#include "targets/llvm/semantics.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/MDBuilder.h>

namespace tilewright {

namespace {

llvm::Value *number_like(const llvm::Value *value, std::uint64_t number) {
  return llvm::ConstantInt::get(value->getType(), number);
}

/// The constant integer in every lane, or null.
const llvm::ConstantInt *uniform_integer(const llvm::Value *value) {
  const auto *constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant == nullptr) {
    return nullptr;
  }
  if (constant->getType()->isVectorTy()) {
    constant = constant->getSplatValue();
  }
  return constant == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantInt>(constant);
}

} // namespace

llvm::Value *Semantics::bool_binary(Op op, llvm::Value *a, llvm::Value *b) {
  switch (op) {
  case Op::Add:
  case Op::Max:
  case Op::Fmax:
  case Op::Or:
    return builder_.CreateOr(a, b);
  case Op::Mul:
  case Op::Min:
  case Op::Fmin:
  case Op::And:
    return builder_.CreateAnd(a, b);
  case Op::Sub:
  case Op::Xor:
  case Op::Ne:
    return builder_.CreateXor(a, b);
  case Op::Eq:
    return builder_.CreateNot(builder_.CreateXor(a, b));
  case Op::Lt:
    return builder_.CreateAnd(builder_.CreateNot(a), b);
  case Op::Le:
    return builder_.CreateOr(builder_.CreateNot(a), b);
  case Op::Gt:
    return builder_.CreateAnd(a, builder_.CreateNot(b));
  case Op::Ge:
    return builder_.CreateOr(a, builder_.CreateNot(b));
  case Op::Pow:
    return builder_.CreateOr(a, builder_.CreateNot(b));
  case Op::FloorDiv:
    return builder_.CreateAnd(a, b);
  case Op::Mod:
    return builder_.CreateAnd(a, builder_.CreateAnd(b, builder_.CreateNot(b)));
  default:
    throw Error(ErrorKind::Internal,
                "an operation that is not defined on bool reached the CPU target");
  }
}

llvm::Value *Semantics::integer_divide(Op op, ScalarType type, llvm::Value *a, llvm::Value *b) {
  const bool truncates = op == Op::Fmod || op == Op::TruncatedDivide;
  const bool quotient = op == Op::FloorDiv || op == Op::TruncatedDivide;
  if (const llvm::ConstantInt *divisor = uniform_integer(b)) {
    const llvm::APInt &bits = divisor->getValue();
    const bool is_negative = type.is_signed_integer() && bits.isNegative();
    const bool floors = !truncates || !type.is_signed_integer();
    if (bits.isPowerOf2() && !is_negative && floors) {
      if (!quotient) {
        return builder_.CreateAnd(a, llvm::ConstantInt::get(a->getType(), bits - 1));
      }
      llvm::Value *amount = number_like(a, bits.logBase2());
      return type.is_signed_integer() ? builder_.CreateAShr(a, amount)
                                      : builder_.CreateLShr(a, amount);
    }
  }
  if (branches_ && !a->getType()->isVectorTy() && !llvm::isa<llvm::Constant>(b)) {
    return divide_by_branch(op, type, a, b);
  }
  llvm::Value *zero = number_like(a, 0);
  llvm::Value *one = number_like(a, 1);
  llvm::Value *by_zero = builder_.CreateICmpEQ(b, zero);
  if (!type.is_signed_integer()) {
    llvm::Value *safe = builder_.CreateSelect(by_zero, one, b);
    return builder_.CreateSelect(by_zero, zero, divide_unguarded(op, type, a, safe));
  }
  // The one overflow, smallest / -1, is replaced by smallest / 1: NumPy's answer, and remainder 0.
  llvm::Value *smallest =
      llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignedMinValue(type.bits));
  llvm::Value *minus_one = llvm::Constant::getAllOnesValue(a->getType());
  llvm::Value *overflow =
      builder_.CreateAnd(builder_.CreateICmpEQ(a, smallest), builder_.CreateICmpEQ(b, minus_one));
  // One after the other: LLVM takes a division by a constant vector with some zero for no division
  // at all, and so the other arm of a select that chooses between them in one step.
  llvm::Value *nonzero = builder_.CreateSelect(by_zero, one, b);
  llvm::Value *safe = builder_.CreateSelect(overflow, one, nonzero);
  return builder_.CreateSelect(by_zero, zero, divide_unguarded(op, type, a, safe));
}

llvm::Value *Semantics::divide_unguarded(Op op, ScalarType type, llvm::Value *a, llvm::Value *b) {
  const bool quotient = op == Op::FloorDiv || op == Op::TruncatedDivide;
  if (!type.is_signed_integer()) {
    return quotient ? builder_.CreateUDiv(a, b) : builder_.CreateURem(a, b);
  }
  if (op == Op::Fmod) {
    return builder_.CreateSRem(a, b);
  }
  llvm::Value *truncated = builder_.CreateSDiv(a, b);
  if (op == Op::TruncatedDivide) {
    return truncated;
  }
  llvm::Value *remainder = builder_.CreateSub(a, builder_.CreateMul(truncated, b));
  llvm::Value *zero = number_like(a, 0);
  llvm::Value *signs_differ = builder_.CreateICmpSLT(builder_.CreateXor(remainder, b), zero);
  llvm::Value *adjust = builder_.CreateAnd(builder_.CreateICmpNE(remainder, zero), signs_differ);
  return quotient ? builder_.CreateSelect(adjust, builder_.CreateSub(truncated, number_like(a, 1)),
                                          truncated)
                  : builder_.CreateSelect(adjust, builder_.CreateAdd(remainder, b), remainder);
}

llvm::Value *Semantics::divides(ScalarType type, llvm::Value *a, llvm::Value *b) {
  const llvm::ConstantInt *divisor = uniform_integer(b);
  const bool masks = divisor != nullptr && divisor->getValue().isPowerOf2();
  llvm::Value *remainder = integer_divide(masks ? Op::Mod : Op::Fmod, type, a, b);
  return builder_.CreateICmpEQ(remainder, number_like(a, 0));
}

llvm::Value *Semantics::divide_by_branch(Op op, ScalarType type, llvm::Value *a, llvm::Value *b) {
  const bool quotient = op == Op::FloorDiv || op == Op::TruncatedDivide;
  llvm::Value *zero = number_like(a, 0);
  llvm::Value *one = number_like(a, 1);
  llvm::Value *is_special = type.is_signed_integer()
                                ? builder_.CreateICmpULE(builder_.CreateAdd(b, one), one)
                                : builder_.CreateICmpEQ(b, zero);
  llvm::Function *function = builder_.GetInsertBlock()->getParent();
  const auto block = [&](const char *label) {
    return llvm::BasicBlock::Create(module_.getContext(), label, function);
  };
  llvm::BasicBlock *special = block("divide.special");
  llvm::BasicBlock *plain = block("divide");
  llvm::BasicBlock *after = block("divided");
  builder_.CreateCondBr(is_special, special, plain,
                        llvm::MDBuilder(module_.getContext()).createUnlikelyBranchWeights());
  builder_.SetInsertPoint(special);
  // smallest / -1 is NumPy's answer, smallest; all remainders are 0.
  llvm::Value *by_minus_one =
      quotient && type.is_signed_integer()
          ? builder_.CreateSelect(builder_.CreateICmpEQ(b, zero), zero, builder_.CreateNeg(a))
          : zero;
  builder_.CreateBr(after);
  builder_.SetInsertPoint(plain);
  llvm::Value *divided = divide_unguarded(op, type, a, b);
  builder_.CreateBr(after);
  builder_.SetInsertPoint(after);
  llvm::PHINode *result = builder_.CreatePHI(a->getType(), 2);
  result->addIncoming(by_minus_one, special);
  result->addIncoming(divided, plain);
  return result;
}

llvm::Value *Semantics::integer_power(ScalarType type, llvm::Value *base, llvm::Value *exponent) {
  if (const llvm::ConstantInt *constant = uniform_integer(exponent)) {
    if (constant->getValue().ule(64)) {
      llvm::Value *result = nullptr;
      llvm::Value *square = base;
      for (std::uint64_t rest = constant->getZExtValue(); rest != 0; rest >>= 1) {
        if ((rest & 1) != 0) {
          result = result == nullptr ? square : builder_.CreateMul(result, square);
        }
        if (rest > 1) {
          square = builder_.CreateMul(square, square);
        }
      }
      return result == nullptr ? number_like(base, 1) : result;
    }
  }
  // Products modulo 2^64 are right modulo every smaller width.
  const bool is_signed = type.is_signed_integer();
  llvm::Type *i64 = builder_.getInt64Ty();
  const auto function = declare(is_signed ? "tilewright_power_signed" : "tilewright_power_unsigned",
                                i64, {i64, i64}, false);
  auto one_lane = [&](llvm::Value *x, llvm::Value *n) {
    llvm::Value *result =
        builder_.CreateCall(function, {builder_.CreateIntCast(x, i64, is_signed),
                                       builder_.CreateIntCast(n, i64, is_signed)});
    return builder_.CreateIntCast(result, x->getType(), is_signed);
  };
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(base->getType());
  if (vector == nullptr) {
    return one_lane(base, exponent);
  }
  llvm::Value *result = llvm::PoisonValue::get(base->getType());
  for (std::uint64_t k = 0; k < vector->getNumElements(); ++k) {
    llvm::Value *element = one_lane(builder_.CreateExtractElement(base, k),
                                    builder_.CreateExtractElement(exponent, k));
    result = builder_.CreateInsertElement(result, element, k);
  }
  return result;
}

llvm::Value *Semantics::shift(Op op, ScalarType type, llvm::Value *a, llvm::Value *b) {
  llvm::Value *last = number_like(b, type.bits - 1U);
  llvm::Value *amount = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, b, last);
  if (op == Op::Shr && type.is_signed_integer()) {
    return builder_.CreateAShr(a, amount);
  }
  llvm::Value *shifted =
      op == Op::Shl ? builder_.CreateShl(a, amount) : builder_.CreateLShr(a, amount);
  return builder_.CreateSelect(builder_.CreateICmpULE(b, last), shifted, number_like(a, 0));
}

llvm::Value *Semantics::integer_binary(Op op, ScalarType type, llvm::Value *a, llvm::Value *b) {
  const bool is_signed = type.is_signed_integer();
  switch (op) {
  case Op::Add:
    return builder_.CreateAdd(a, b);
  case Op::Sub:
    return builder_.CreateSub(a, b);
  case Op::Mul:
    return builder_.CreateMul(a, b);
  case Op::FloorDiv:
  case Op::Mod:
  case Op::Fmod:
  case Op::TruncatedDivide:
    return integer_divide(op, type, a, b);
  case Op::Pow:
    return integer_power(type, a, b);
  case Op::Min:
  case Op::Fmin:
    return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin,
                                          a, b);
  case Op::Max:
  case Op::Fmax:
    return builder_.CreateBinaryIntrinsic(is_signed ? llvm::Intrinsic::smax : llvm::Intrinsic::umax,
                                          a, b);
  case Op::And:
    return builder_.CreateAnd(a, b);
  case Op::Or:
    return builder_.CreateOr(a, b);
  case Op::Xor:
    return builder_.CreateXor(a, b);
  case Op::Shl:
  case Op::Shr:
    return shift(op, type, a, b);
  case Op::SaturatingAdd:
    return builder_.CreateBinaryIntrinsic(
        is_signed ? llvm::Intrinsic::sadd_sat : llvm::Intrinsic::uadd_sat, a, b);
  case Op::SaturatingSubtract:
    return builder_.CreateBinaryIntrinsic(
        is_signed ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::usub_sat, a, b);
  case Op::Lt:
    return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
  case Op::Le:
    return is_signed ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
  case Op::Gt:
    return is_signed ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b);
  case Op::Ge:
    return is_signed ? builder_.CreateICmpSGE(a, b) : builder_.CreateICmpUGE(a, b);
  case Op::Eq:
    return builder_.CreateICmpEQ(a, b);
  case Op::Ne:
    return builder_.CreateICmpNE(a, b);
  default:
    throw Error(ErrorKind::Internal,
                "an operation that is not defined on integers reached the CPU target");
  }
}

llvm::Value *Semantics::count_bits(Op op, ScalarType type, llvm::Value *a) {
  llvm::Value *count = nullptr;
  if (op == Op::BitCount) {
    llvm::Value *size =
        type.is_signed_integer()
            ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder_.getFalse())
            : a;
    count = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, size);
  } else {
    count = builder_.CreateBinaryIntrinsic(op == Op::CountLeadingZeros ? llvm::Intrinsic::ctlz
                                                                       : llvm::Intrinsic::cttz,
                                           a, builder_.getFalse());
  }
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(a->getType());
  llvm::Type *byte = builder_.getInt8Ty();
  return builder_.CreateTrunc(
      count, vector == nullptr ? byte : llvm::FixedVectorType::get(byte, vector->getNumElements()));
}

llvm::Value *Semantics::integer_call(Op op, ScalarType type, int lanes, llvm::Value *a) {
  switch (op) {
  case Op::Not:
    return builder_.CreateNot(a);
  case Op::Neg:
    return type.is_bool() ? builder_.CreateNot(a) : builder_.CreateNeg(a);
  case Op::Abs:
    return type.is_signed_integer()
               ? builder_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, builder_.getFalse())
               : a;
  case Op::Sign: {
    llvm::Value *one = number_like(a, 1);
    if (!type.is_signed_integer()) {
      return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, one);
    }
    llvm::Value *below = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, one);
    return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, below,
                                          llvm::Constant::getAllOnesValue(a->getType()));
  }
  case Op::BitCount:
  case Op::CountLeadingZeros:
  case Op::CountTrailingZeros:
    return count_bits(op, type, a);
  case Op::Floor:
  case Op::Ceil:
  case Op::Trunc:
  case Op::Rint:
  case Op::Real:
  case Op::Conj:
    return a;
  case Op::Imag:
    return llvm::Constant::getNullValue(a->getType());
  case Op::Isnan:
    return llvm::Constant::getNullValue(register_type(builder_.getContext(), Bool, lanes));
  default:
    throw Error(ErrorKind::Internal,
                "a function that is not defined on integers reached the CPU target");
  }
}

} // namespace tilewright
