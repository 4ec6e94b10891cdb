// Arithmetic on float32 and float64; math.h has the elementary functions. What is declared of
// the runtime is marked nobuiltin: LLVM would fold calls on constants and round differently.
#include "algorithm/scalar.h"
#include "targets/llvm/semantics.h"

#include <llvm/Analysis/SimplifyQuery.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cstdlib>
#include <optional>

namespace tilewright {

namespace {

/// The constant in every lane, or null.
const llvm::ConstantFP *uniform_float(const llvm::Value *value) {
  const auto *constant = llvm::dyn_cast<llvm::Constant>(value);
  if (constant == nullptr) {
    return nullptr;
  }
  if (constant->getType()->isVectorTy()) {
    constant = constant->getSplatValue();
  }
  return constant == nullptr ? nullptr : llvm::dyn_cast<llvm::ConstantFP>(constant);
}

} // namespace

llvm::FunctionCallee Semantics::declare(const std::string &name, llvm::Type *result,
                                        const std::vector<llvm::Type *> &parameters,
                                        bool touches_arguments) {
  llvm::FunctionCallee callee =
      module_.getOrInsertFunction(name, llvm::FunctionType::get(result, parameters, false));
  if (auto *function = llvm::dyn_cast<llvm::Function>(callee.getCallee())) {
    function->setDoesNotThrow();
    function->setWillReturn();
    if (touches_arguments) {
      function->setOnlyAccessesArgMemory();
    } else {
      function->setDoesNotAccessMemory();
    }
    function->addFnAttr(llvm::Attribute::NoFree);
    function->addFnAttr(llvm::Attribute::NoBuiltin);
  }
  return callee;
}

llvm::Value *Semantics::is_nan(llvm::Value *value) { return builder_.CreateFCmpUNO(value, value); }

llvm::Value *Semantics::float_divide(Op op, llvm::Value *a, llvm::Value *b) {
  // NumPy's npy_divmod, with selects in place of branches.
  llvm::Type *type = a->getType();
  llvm::Value *zero = llvm::Constant::getNullValue(type);
  llvm::Value *one = llvm::ConstantFP::get(type, 1.0);
  llvm::Value *remainder = math_.remainder(builder_, a, b);
  llvm::Value *inexact = builder_.CreateFCmpUNE(remainder, zero);
  llvm::Value *signs_differ =
      builder_.CreateXor(builder_.CreateFCmpOLT(b, zero), builder_.CreateFCmpOLT(remainder, zero));
  llvm::Value *adjust = builder_.CreateAnd(inexact, signs_differ);
  llvm::Value *by_zero = builder_.CreateFCmpOEQ(b, zero);
  if (op == Op::Mod) {
    llvm::Value *moved =
        builder_.CreateSelect(adjust, builder_.CreateFAdd(remainder, b), remainder);
    llvm::Value *signed_zero = builder_.CreateCopySign(zero, b);
    llvm::Value *result = builder_.CreateSelect(inexact, moved, signed_zero);
    return builder_.CreateSelect(by_zero, remainder, result);
  }
  llvm::Value *ratio = builder_.CreateFDiv(a, b);
  llvm::Value *whole = builder_.CreateFDiv(builder_.CreateFSub(a, remainder), b);
  whole = builder_.CreateSelect(adjust, builder_.CreateFSub(whole, one), whole);
  llvm::Value *floored = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, whole);
  llvm::Value *too_low =
      builder_.CreateFCmpOGT(builder_.CreateFSub(whole, floored), llvm::ConstantFP::get(type, 0.5));
  floored = builder_.CreateSelect(too_low, builder_.CreateFAdd(floored, one), floored);
  llvm::Value *nonzero = builder_.CreateFCmpUNE(whole, zero);
  llvm::Value *result =
      builder_.CreateSelect(nonzero, floored, builder_.CreateCopySign(zero, ratio));
  return builder_.CreateSelect(by_zero, ratio, result);
}

llvm::Value *Semantics::float_power(llvm::Value *base, llvm::Value *exponent) {
  if (const llvm::ConstantFP *constant = uniform_float(exponent)) {
    // NumPy's own short cuts for scalar exponents.
    if (constant->isExactlyValue(2.0)) {
      return builder_.CreateFMul(base, base);
    }
    if (constant->isExactlyValue(1.0)) {
      return base;
    }
    if (constant->isExactlyValue(0.5)) {
      return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, base);
    }
    if (constant->isExactlyValue(-1.0)) {
      return builder_.CreateFDiv(llvm::ConstantFP::get(base->getType(), 1.0), base);
    }
    const std::optional<int> factors = factors_of_power(constant->getValueAPF().convertToDouble());
    if (factors && base->getType()->getScalarType()->isFloatTy()) {
      return power_by_products(base, *factors);
    }
  }
  return math_.call(builder_, Op::Pow, {base, exponent});
}

llvm::Value *Semantics::power_by_products(llvm::Value *base, int factors) {
  llvm::Type *wide = base->getType()->getWithNewType(builder_.getDoubleTy());
  llvm::Value *square = builder_.CreateFPExt(base, wide);
  llvm::Value *result = nullptr;
  for (int rest = std::abs(factors); rest > 0; rest /= 2) {
    if (rest % 2 == 1) {
      result = result == nullptr ? square : builder_.CreateFMul(result, square);
    }
    square = rest > 1 ? builder_.CreateFMul(square, square) : square;
  }
  if (factors < 0) {
    result = builder_.CreateFDiv(llvm::ConstantFP::get(wide, 1.0), result);
  }
  return builder_.CreateFPTrunc(result, base->getType());
}

llvm::Value *Semantics::float_extremum(Op op, llvm::Value *a, llvm::Value *b) {
  const bool smaller = op == Op::Min || op == Op::Fmin;
  const bool keeps_nan = op == Op::Min || op == Op::Max;
  // One machine minimum, which gives a when both are equal or either is NaN. In a reduction a is
  // what was found so far, and nothing but this instruction waits for it.
  llvm::Value *first = smaller ? builder_.CreateFCmpOLT(b, a) : builder_.CreateFCmpOGT(b, a);
  llvm::Value *found = builder_.CreateSelect(first, b, a);
  const llvm::SimplifyQuery query(builder_.GetInsertBlock()->getModule()->getDataLayout());
  if (keeps_nan && llvm::isKnownNeverNaN(b, /*Depth=*/0, query)) {
    return found;
  }
  // A NaN of b wins, or loses to it what is NaN in a. As a question whether one is a number it is a
  // masked minimum; of one whether it is NaN, LLVM makes one choice with the other comparison, and
  // waits for both.
  llvm::Value *asked = keeps_nan ? b : a;
  return builder_.CreateSelect(builder_.CreateFCmpORD(asked, asked), found, b);
}

llvm::Value *Semantics::float_binary(Op op, llvm::Value *a, llvm::Value *b) {
  switch (op) {
  case Op::Add:
    return builder_.CreateFAdd(a, b);
  case Op::Sub:
    return builder_.CreateFSub(a, b);
  case Op::Mul:
    return builder_.CreateFMul(a, b);
  case Op::TrueDiv:
    return builder_.CreateFDiv(a, b);
  case Op::FloorDiv:
  case Op::Mod:
    return float_divide(op, a, b);
  case Op::Pow:
    return float_power(a, b);
  case Op::Min:
  case Op::Max:
  case Op::Fmin:
  case Op::Fmax:
    return float_extremum(op, a, b);
  case Op::Fmod:
    return math_.remainder(builder_, a, b);
  case Op::Copysign:
    return builder_.CreateCopySign(a, b);
  case Op::Lt:
    return builder_.CreateFCmpOLT(a, b);
  case Op::Le:
    return builder_.CreateFCmpOLE(a, b);
  case Op::Gt:
    return builder_.CreateFCmpOGT(a, b);
  case Op::Ge:
    return builder_.CreateFCmpOGE(a, b);
  case Op::Eq:
    return builder_.CreateFCmpOEQ(a, b);
  case Op::Ne:
    return builder_.CreateFCmpUNE(a, b);
  case Op::Arctan2:
  case Op::Hypot:
    return math_.call(builder_, op, {a, b});
  default:
    throw Error(ErrorKind::Internal,
                "an operation that is not defined on floats reached the CPU target");
  }
}

llvm::Value *Semantics::float_call(Op op, const std::vector<llvm::Value *> &arguments) {
  llvm::Value *a = arguments[0];
  switch (op) {
  case Op::Neg:
    return builder_.CreateFNeg(a);
  case Op::Abs:
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
  case Op::Sqrt:
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
  case Op::Floor:
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a);
  case Op::Ceil:
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a);
  case Op::Trunc:
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a);
  case Op::Rint:
    return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::rint, a);
  case Op::Isnan:
    return is_nan(a);
  case Op::Sign: {
    // The size of what is no nonzero number: 0 without its sign, or NaN.
    llvm::Value *zero = llvm::Constant::getNullValue(a->getType());
    llvm::Value *unit = builder_.CreateCopySign(llvm::ConstantFP::get(a->getType(), 1.0), a);
    return builder_.CreateSelect(builder_.CreateFCmpONE(a, zero), unit,
                                 builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a));
  }
  case Op::Real:
  case Op::Conj:
    return a;
  case Op::Imag:
    return llvm::Constant::getNullValue(a->getType());
  default:
    return arguments.size() == 2 ? float_binary(op, a, arguments[1])
                                 : math_.call(builder_, op, arguments);
  }
}

} // namespace tilewright
