// Types, constants and conversions between scalar types.
#include "targets/llvm/semantics.h"

#include <llvm/ADT/APSInt.h>
#include <llvm/IR/Intrinsics.h>

#include <cmath>

namespace tilewright {

namespace {

int lanes_of(const llvm::Value *value) {
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? 1 : static_cast<int>(vector->getNumElements());
}

llvm::Type *with_lanes(llvm::Type *type, int lanes) {
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes));
}

std::uint64_t to_bits(const ConstantValue &value) {
  return std::visit(
      [](const auto &number) -> std::uint64_t {
        using T = std::decay_t<decltype(number)>;
        if constexpr (std::is_same_v<T, std::complex<double>>) {
          return static_cast<std::uint64_t>(static_cast<std::int64_t>(number.real()));
        } else if constexpr (std::is_same_v<T, double>) {
          return number < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(number))
                            : static_cast<std::uint64_t>(number);
        } else {
          return static_cast<std::uint64_t>(number);
        }
      },
      value);
}

bool to_truth(const ConstantValue &value) {
  return std::visit(
      [](const auto &number) {
        using T = std::decay_t<decltype(number)>;
        return number != T{};
      },
      value);
}

/// The number as an exact APFloat wide enough for every variant: integers keep all their bits.
llvm::APFloat to_quad(const ConstantValue &value, bool imaginary) {
  llvm::APFloat number(llvm::APFloat::IEEEquad());
  auto from_double = [&](double x) {
    llvm::APFloat wide(x);
    bool lost = false;
    wide.convert(llvm::APFloat::IEEEquad(), llvm::APFloat::rmNearestTiesToEven, &lost);
    return wide;
  };
  if (const auto *complex = std::get_if<std::complex<double>>(&value)) {
    return from_double(imaginary ? complex->imag() : complex->real());
  }
  if (imaginary) {
    return from_double(0.0);
  }
  if (const auto *real = std::get_if<double>(&value)) {
    return from_double(*real);
  }
  const bool is_signed = std::holds_alternative<std::int64_t>(value);
  number.convertFromAPInt(llvm::APInt(64, to_bits(value)), is_signed,
                          llvm::APFloat::rmNearestTiesToEven);
  return number;
}

llvm::APFloat rounded(llvm::APFloat value, const llvm::fltSemantics &semantics) {
  bool lost = false;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &lost);
  return value;
}

} // namespace

llvm::Type *register_type(llvm::LLVMContext &context, ScalarType type, int lanes) {
  const ScalarType component = component_type(type);
  llvm::Type *scalar = nullptr;
  switch (component.kind) {
  case TypeKind::Bool:
    scalar = llvm::Type::getInt1Ty(context);
    break;
  case TypeKind::Int:
  case TypeKind::UInt:
  case TypeKind::BFloat:
    scalar = llvm::Type::getIntNTy(context, component.bits);
    break;
  case TypeKind::Float:
    scalar = component.bits == 16   ? llvm::Type::getHalfTy(context)
             : component.bits == 32 ? llvm::Type::getFloatTy(context)
                                    : llvm::Type::getDoubleTy(context);
    break;
  case TypeKind::Complex:
    break; // component_type never gives it
  }
  return with_lanes(scalar, lanes);
}

llvm::Type *memory_type(llvm::LLVMContext &context, ScalarType type, int lanes) {
  return type.is_bool() ? with_lanes(llvm::Type::getInt8Ty(context), lanes)
                        : register_type(context, type, lanes);
}

llvm::Value *Semantics::real_constant(const ConstantValue &value, ScalarType type, bool imaginary) {
  llvm::LLVMContext &context = builder_.getContext();
  switch (type.kind) {
  case TypeKind::Bool:
    return builder_.getInt1(to_truth(value));
  case TypeKind::Int:
  case TypeKind::UInt:
    return llvm::ConstantInt::get(context, llvm::APInt(64, to_bits(value)).zextOrTrunc(type.bits));
  case TypeKind::BFloat: {
    // By way of float32, as ml_dtypes converts.
    const llvm::APFloat single = rounded(to_quad(value, imaginary), llvm::APFloat::IEEEsingle());
    const llvm::APFloat brain = rounded(single, llvm::APFloat::BFloat());
    return llvm::ConstantInt::get(context, brain.bitcastToAPInt());
  }
  default:
    break;
  }
  const llvm::fltSemantics &semantics = type.bits == 16   ? llvm::APFloat::IEEEhalf()
                                        : type.bits == 32 ? llvm::APFloat::IEEEsingle()
                                                          : llvm::APFloat::IEEEdouble();
  return llvm::ConstantFP::get(context, rounded(to_quad(value, imaginary), semantics));
}

Term Semantics::constant(const ConstantValue &value, ValueType type) {
  const ScalarType component = component_type(type.scalar);
  Term term;
  term.re = real_constant(value, component, false);
  if (type.scalar.is_complex()) {
    term.im = real_constant(value, component, true);
  }
  return splat(term, type.lanes);
}

Term Semantics::splat(const Term &term, int lanes) {
  if (lanes == 1 || lanes_of(term.re) == lanes) {
    return term;
  }
  Term result;
  result.re = builder_.CreateVectorSplat(static_cast<unsigned>(lanes), term.re);
  if (term.im != nullptr) {
    result.im = builder_.CreateVectorSplat(static_cast<unsigned>(lanes), term.im);
  }
  return result;
}

Term Semantics::lane(const Term &term, int index) {
  if (!term.re->getType()->isVectorTy()) {
    return term;
  }
  Term result;
  result.re = builder_.CreateExtractElement(term.re, static_cast<std::uint64_t>(index));
  if (term.im != nullptr) {
    result.im = builder_.CreateExtractElement(term.im, static_cast<std::uint64_t>(index));
  }
  return result;
}

Term Semantics::with_lane(const Term &vector, const Term &element, int index) {
  if (!vector.re->getType()->isVectorTy()) {
    return element;
  }
  Term result;
  result.re =
      builder_.CreateInsertElement(vector.re, element.re, static_cast<std::uint64_t>(index));
  if (vector.im != nullptr) {
    result.im =
        builder_.CreateInsertElement(vector.im, element.im, static_cast<std::uint64_t>(index));
  }
  return result;
}

Term Semantics::poison(ValueType type) {
  llvm::Type *llvm_type = register_type(builder_.getContext(), type.scalar, type.lanes);
  Term term;
  term.re = llvm::PoisonValue::get(llvm_type);
  if (type.scalar.is_complex()) {
    term.im = llvm::PoisonValue::get(llvm_type);
  }
  return term;
}

llvm::Value *Semantics::bfloat_to_float(llvm::Value *value) {
  const int lanes = lanes_of(value);
  llvm::Type *i32 = with_lanes(builder_.getInt32Ty(), lanes);
  llvm::Value *bits = builder_.CreateShl(builder_.CreateZExt(value, i32), 16);
  return builder_.CreateBitCast(bits, with_lanes(builder_.getFloatTy(), lanes));
}

llvm::Value *Semantics::float_to_bfloat(llvm::Value *value) {
  const int lanes = lanes_of(value);
  llvm::Type *i32 = with_lanes(builder_.getInt32Ty(), lanes);
  auto number = [&](std::uint32_t bits) { return llvm::ConstantInt::get(i32, bits); };
  llvm::Value *bits = builder_.CreateBitCast(value, i32);
  llvm::Value *high = builder_.CreateLShr(bits, number(16));
  llvm::Value *odd = builder_.CreateAnd(high, number(1));
  llvm::Value *biased = builder_.CreateAdd(bits, builder_.CreateAdd(odd, number(0x7fff)));
  llvm::Value *nearest = builder_.CreateLShr(biased, number(16));
  llvm::Value *quiet = builder_.CreateOr(high, number(0x40));
  llvm::Value *result = builder_.CreateSelect(is_nan(value), quiet, nearest);
  return builder_.CreateTrunc(result, with_lanes(builder_.getInt16Ty(), lanes));
}

llvm::Value *Semantics::widen(llvm::Value *value, ScalarType type) {
  if (type.kind == TypeKind::BFloat) {
    return bfloat_to_float(value);
  }
  if (type.kind == TypeKind::Float && type.bits == 16) {
    return builder_.CreateFPExt(value, with_lanes(builder_.getFloatTy(), lanes_of(value)));
  }
  return value;
}

llvm::Value *Semantics::narrow(llvm::Value *value, ScalarType type) {
  if (type.kind == TypeKind::BFloat) {
    return float_to_bfloat(value);
  }
  if (type.kind == TypeKind::Float && type.bits == 16) {
    return builder_.CreateFPTrunc(value, with_lanes(builder_.getHalfTy(), lanes_of(value)));
  }
  return value;
}

/// What fptosi.sat and fptoui.sat do, which LLVM 19 takes apart into lanes with branches on x86:
/// numbers outside of the type become its end, NaN becomes 0.
llvm::Value *Semantics::float_lanes_to_integers(llvm::Value *value, ScalarType to,
                                                llvm::Type *target) {
  llvm::Type *type = value->getType();
  const llvm::fltSemantics &format = type->getScalarType()->getFltSemantics();
  const auto bits = static_cast<unsigned>(to.bits);
  const bool is_signed = to.is_signed_integer();
  const llvm::APSInt lowest = llvm::APSInt::getMinValue(bits, !is_signed);
  const llvm::APSInt highest = llvm::APSInt::getMaxValue(bits, !is_signed);
  // The ends as numbers of this format, those inside that are nearest.
  const auto inside = [&](const llvm::APSInt &end) {
    llvm::APFloat number(format);
    const auto status = number.convertFromAPInt(end, is_signed, llvm::APFloat::rmTowardZero);
    return std::pair(llvm::ConstantFP::get(type, number), status == llvm::APFloat::opOK);
  };
  const auto [low, low_is_exact] = inside(lowest); // always
  const auto [high, high_is_exact] = inside(highest);
  // These comparisons are minima and maxima of x86; of NaN, the first gives the lower end.
  llvm::Value *above = builder_.CreateSelect(builder_.CreateFCmpOGT(value, low), value, low);
  llvm::Value *clamped = builder_.CreateSelect(builder_.CreateFCmpOLT(above, high), above, high);
  // Through 32 bits, for which there are instructions.
  llvm::Type *converted = bits < 32 ? target->getWithNewType(builder_.getInt32Ty()) : target;
  llvm::Value *result = is_signed || bits < 32 ? builder_.CreateFPToSI(clamped, converted)
                                               : builder_.CreateFPToUI(clamped, converted);
  if (bits < 32) {
    result = builder_.CreateTrunc(result, target);
  }
  if (!high_is_exact) {
    result = builder_.CreateSelect(builder_.CreateFCmpOGT(value, high),
                                   llvm::ConstantInt::get(target, highest), result);
  }
  return is_signed
             ? builder_.CreateSelect(is_nan(value), llvm::Constant::getNullValue(target), result)
             : result;
}

llvm::Value *Semantics::real_cast(llvm::Value *value, ScalarType from, ScalarType to, int lanes) {
  if (from == to) {
    return value;
  }
  llvm::LLVMContext &context = builder_.getContext();
  llvm::Type *target = register_type(context, to, lanes);
  if (from.is_bool() || from.is_integer()) {
    if (to.is_bool()) {
      return builder_.CreateICmpNE(value, llvm::Constant::getNullValue(value->getType()));
    }
    if (to.is_integer()) {
      return builder_.CreateIntCast(value, target, from.is_signed_integer());
    }
    llvm::Type *compute = to.bits == 64 ? target : with_lanes(builder_.getFloatTy(), lanes);
    llvm::Value *number = from.is_signed_integer() ? builder_.CreateSIToFP(value, compute)
                                                   : builder_.CreateUIToFP(value, compute);
    return narrow(number, to);
  }
  if (to.is_bool()) {
    llvm::Value *wide = widen(value, from);
    return builder_.CreateFCmpUNE(wide, llvm::Constant::getNullValue(wide->getType()));
  }
  if (to.is_integer()) {
    llvm::Value *wide = widen(value, from);
    if (lanes > 1) {
      return float_lanes_to_integers(wide, to, target);
    }
    const auto intrinsic =
        to.is_signed_integer() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return builder_.CreateIntrinsic(intrinsic, {target, wide->getType()}, {wide});
  }
  // Between floating types. double -> float16 rounds once; to bfloat16 everything goes by way of
  // float32.
  llvm::Value *wide = from.kind == TypeKind::BFloat ? bfloat_to_float(value) : value;
  if (to.kind == TypeKind::BFloat) {
    return float_to_bfloat(builder_.CreateFPCast(wide, with_lanes(builder_.getFloatTy(), lanes)));
  }
  return builder_.CreateFPCast(wide, target);
}

Term Semantics::cast(const Term &term, ValueType from, ValueType to) {
  Term source = from.lanes == to.lanes ? term : splat(term, to.lanes);
  if (from.scalar == to.scalar) {
    return source;
  }
  const ScalarType from_part = component_type(from.scalar);
  const ScalarType to_part = component_type(to.scalar);
  Term result;
  if (from.scalar.is_complex() && to.scalar.is_bool()) {
    result.re = builder_.CreateOr(real_cast(source.re, from_part, to.scalar, to.lanes),
                                  real_cast(source.im, from_part, to.scalar, to.lanes));
    return result;
  }
  result.re = real_cast(source.re, from_part, to_part, to.lanes);
  if (to.scalar.is_complex()) {
    result.im = from.scalar.is_complex() ? real_cast(source.im, from_part, to_part, to.lanes)
                                         : llvm::Constant::getNullValue(result.re->getType());
  }
  return result;
}

Term Semantics::select(llvm::Value *condition, const Term &then, const Term &otherwise) {
  Term result;
  result.re = builder_.CreateSelect(condition, then.re, otherwise.re);
  if (then.im != nullptr) {
    result.im = builder_.CreateSelect(condition, then.im, otherwise.im);
  }
  return result;
}

} // namespace tilewright
