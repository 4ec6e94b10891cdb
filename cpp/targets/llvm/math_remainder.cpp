// C's fmod, exact for all arguments, where no library has it: what LLVM makes of frem on a GPU is
// the difference of rounded products, wrong as soon as a quotient is not small. In each step the
// divisor is scaled by a power of two so that the quotient has at most as many digits as a
// significand; rounded, its whole part is at most one too high, and the difference, less than the
// divisor and a multiple of the divisor's last place, is exact with a fused multiply-add.
#include "targets/llvm/math.h"

#include <llvm/IR/Intrinsics.h>

namespace tilewright {

namespace {

using lanes::Bits;
using lanes::Mask;
using lanes::Real;

/// Of float32 or float64.
struct Format {
  explicit Format(Real x)
      : digits(x.is_single() ? 23 : 52), least_normal(x.is_single() ? 0x1p-126 : 0x1p-1022),
        growth(x.is_single() ? 0x1p24 : 0x1p53) {}
  std::uint64_t digits; ///< of the fraction
  double least_normal;
  double growth; ///< two to the number of digits and one more: makes any number but zero normal
};

/// A positive number as its fraction and its exponent with the bias, which is below one of
/// subnormal numbers.
struct Parts {
  Bits fraction;
  Bits exponent;
};

Bits smaller_by(Bits x, Mask condition, std::uint64_t amount) {
  return select(condition, x - amount, x);
}

Parts parts_of(Real x, const Format &format) {
  const Mask is_subnormal = x < format.least_normal;
  const Bits pattern = bits_of(select(is_subnormal, x * format.growth, x));
  const std::uint64_t fraction = (std::uint64_t{1} << format.digits) - 1;
  return {pattern & fraction,
          smaller_by(pattern >> format.digits, is_subnormal, format.digits + 1)};
}

/// The number again, with another exponent; exact where that is not below its own.
Real with_exponent(Bits fraction, Bits exponent, const Format &format) {
  llvm::IRBuilder<> &builder = at(fraction);
  const Mask is_subnormal =
      mask(fraction, builder.CreateICmpSLT(exponent.value, constant(exponent, 1).value));
  const Bits normal = select(is_subnormal, exponent + (format.digits + 1), exponent);
  const Real grown = real_of(fraction | (normal << format.digits));
  return select(is_subnormal, grown * (1.0 / format.growth), grown);
}

} // namespace

llvm::Function *MathLibrary::remainder_function(llvm::Type *type) {
  const std::string name = "tilewright.remainder.f" + std::to_string(type->getScalarSizeInBits());
  if (llvm::Function *known = module_.getFunction(name)) {
    return known;
  }
  llvm::Function *function = make(name, type, {type, type});
  const auto block = [&](const char *label) {
    return llvm::BasicBlock::Create(module_.getContext(), label, function);
  };
  llvm::BasicBlock *entry = block("entry");
  llvm::BasicBlock *ask = block("ask");
  llvm::BasicBlock *step = block("step");
  llvm::BasicBlock *done = block("done");
  llvm::IRBuilder<> builder(entry);
  lanes::Frame frame{builder, /*fused=*/true};
  const Real x{{&frame, function->getArg(0)}};
  const Real divisor = magnitude(Real{{&frame, function->getArg(1)}});
  const Format format(x);
  const Real infinity = real(x, llvm::ConstantFP::getInfinity(type));
  const Real not_a_number = real(x, llvm::ConstantFP::getNaN(type));
  const Mask is_defined = (magnitude(x) < infinity) & (divisor > 0.0);
  const Real first = select(is_defined, magnitude(x), not_a_number);
  const Parts parts = parts_of(divisor, format);
  builder.CreateBr(ask);

  builder.SetInsertPoint(ask);
  llvm::PHINode *left = builder.CreatePHI(type, 2, "left");
  left->addIncoming(first.value, entry);
  const Real rest{{&frame, left}};
  builder.CreateCondBr((rest >= divisor).value, step, done);

  builder.SetInsertPoint(step);
  // So many digits below that of the rest, unless the divisor itself is above.
  const Bits lowest = (bits_of(rest) >> format.digits) - format.digits;
  const Bits exponent =
      bits(lowest, builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, lowest.value,
                                                 parts.exponent.value));
  const Real scaled = with_exponent(parts.fraction, exponent, format);
  const Real quotient =
      real(x, builder.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, (rest / scaled).value));
  const Real less = muladd(-quotient, scaled, rest);
  const Real next = select(less < 0.0, less + scaled, less);
  left->addIncoming(next.value, step);
  builder.CreateBr(ask);

  builder.SetInsertPoint(done);
  builder.CreateRet(with_sign(rest, x).value);
  return function;
}

llvm::Value *MathLibrary::remainder(llvm::IRBuilder<> &builder, llvm::Value *a, llvm::Value *b) {
  if (target_.has_library) {
    return builder.CreateFRem(a, b);
  }
  llvm::Type *type = a->getType();
  llvm::Function *callee = remainder_function(type->getScalarType());
  const auto of_one = [&](llvm::Value *x, llvm::Value *y) {
    llvm::CallInst *result = builder.CreateCall(callee, {x, y});
    result->setCallingConv(callee->getCallingConv());
    return result;
  };
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  if (vector == nullptr) {
    return of_one(a, b);
  }
  llvm::Value *result = llvm::PoisonValue::get(type);
  for (std::uint64_t k = 0; k < vector->getNumElements(); ++k) {
    result = builder.CreateInsertElement(
        result, of_one(builder.CreateExtractElement(a, k), builder.CreateExtractElement(b, k)), k);
  }
  return result;
}

} // namespace tilewright
