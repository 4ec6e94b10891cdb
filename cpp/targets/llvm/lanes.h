// Values of the mathematical functions' code: real numbers, bit patterns and truth values in any
// number of lanes (one lane is a scalar), with operators that emit LLVM IR and nothing that only
// some processor has. No instruction carries a fast-math flag: a result depends on nothing but its
// own lane. With Frame::fused, muladd and the exact product use fused multiply-add instead.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <array>
#include <cstdint>

namespace tilewright::lanes {

struct Frame {
  llvm::IRBuilder<> &builder;
  bool fused = false;    ///< results may depend on fused multiply-add, and the CPU has it
  bool has_exp2 = false; ///< the processor has an instruction for 2^x of float32
};

struct Value {
  Frame *frame = nullptr;
  llvm::Value *value = nullptr;
  llvm::Type *type() const { return value->getType(); }
};

struct Mask : Value {};
struct Bits : Value {}; ///< i32 for float, i64 for double
struct Real : Value {
  bool is_single() const { return type()->getScalarType()->isFloatTy(); }
};

/// The sum of two numbers, the second at most half a unit of the first.
struct Pair {
  Real hi;
  Real lo;
};

inline Real real(const Value &like, llvm::Value *value) { return Real{{like.frame, value}}; }
inline Bits bits(const Value &like, llvm::Value *value) { return Bits{{like.frame, value}}; }
inline Mask mask(const Value &like, llvm::Value *value) { return Mask{{like.frame, value}}; }
inline llvm::IRBuilder<> &at(const Value &value) { return value.frame->builder; }

/// A constant of the type of `like`.
inline Real constant(Real like, double number) {
  return real(like, llvm::ConstantFP::get(like.type(), number));
}
inline Bits constant(Bits like, std::uint64_t number) {
  return bits(like, llvm::ConstantInt::get(like.type(), number));
}

inline Real operator+(Real a, Real b) { return real(a, at(a).CreateFAdd(a.value, b.value)); }
inline Real operator-(Real a, Real b) { return real(a, at(a).CreateFSub(a.value, b.value)); }
inline Real operator*(Real a, Real b) { return real(a, at(a).CreateFMul(a.value, b.value)); }
inline Real operator/(Real a, Real b) { return real(a, at(a).CreateFDiv(a.value, b.value)); }
inline Real operator-(Real a) { return real(a, at(a).CreateFNeg(a.value)); }
inline Real operator+(Real a, double b) { return a + constant(a, b); }
inline Real operator-(Real a, double b) { return a - constant(a, b); }
inline Real operator*(Real a, double b) { return a * constant(a, b); }
inline Real operator+(double a, Real b) { return constant(b, a) + b; }
inline Real operator-(double a, Real b) { return constant(b, a) - b; }
inline Real operator*(double a, Real b) { return constant(b, a) * b; }
inline Real operator/(double a, Real b) { return constant(b, a) / b; }

inline Mask operator<(Real a, Real b) { return mask(a, at(a).CreateFCmpOLT(a.value, b.value)); }
inline Mask operator>(Real a, Real b) { return mask(a, at(a).CreateFCmpOGT(a.value, b.value)); }
inline Mask operator>=(Real a, Real b) { return mask(a, at(a).CreateFCmpOGE(a.value, b.value)); }
inline Mask operator==(Real a, Real b) { return mask(a, at(a).CreateFCmpOEQ(a.value, b.value)); }
inline Mask operator<(Real a, double b) { return a < constant(a, b); }
inline Mask operator>(Real a, double b) { return a > constant(a, b); }
inline Mask operator>=(Real a, double b) { return a >= constant(a, b); }
inline Mask operator==(Real a, double b) { return a == constant(a, b); }
inline Mask is_nan(Real a) { return mask(a, at(a).CreateFCmpUNO(a.value, a.value)); }

inline Mask operator&(Mask a, Mask b) { return mask(a, at(a).CreateAnd(a.value, b.value)); }
inline Mask operator|(Mask a, Mask b) { return mask(a, at(a).CreateOr(a.value, b.value)); }
inline Mask operator~(Mask a) { return mask(a, at(a).CreateNot(a.value)); }

inline Bits operator&(Bits a, Bits b) { return bits(a, at(a).CreateAnd(a.value, b.value)); }
inline Bits operator|(Bits a, Bits b) { return bits(a, at(a).CreateOr(a.value, b.value)); }
inline Bits operator^(Bits a, Bits b) { return bits(a, at(a).CreateXor(a.value, b.value)); }
inline Bits operator+(Bits a, Bits b) { return bits(a, at(a).CreateAdd(a.value, b.value)); }
inline Bits operator-(Bits a, Bits b) { return bits(a, at(a).CreateSub(a.value, b.value)); }
inline Bits operator&(Bits a, std::uint64_t b) { return a & constant(a, b); }
inline Bits operator|(Bits a, std::uint64_t b) { return a | constant(a, b); }
inline Bits operator+(Bits a, std::uint64_t b) { return a + constant(a, b); }
inline Bits operator-(Bits a, std::uint64_t b) { return a - constant(a, b); }
inline Bits operator<<(Bits a, std::uint64_t b) {
  return bits(a, at(a).CreateShl(a.value, constant(a, b).value));
}
inline Bits operator>>(Bits a, std::uint64_t b) { // zeros move in
  return bits(a, at(a).CreateLShr(a.value, constant(a, b).value));
}
inline Mask operator==(Bits a, Bits b) { return mask(a, at(a).CreateICmpEQ(a.value, b.value)); }
inline Mask is_zero(Bits a) { return a == constant(a, 0); }

inline Real select(Mask condition, Real then, Real otherwise) {
  return real(then, at(then).CreateSelect(condition.value, then.value, otherwise.value));
}
inline Real select(Mask condition, double then, Real otherwise) {
  return select(condition, constant(otherwise, then), otherwise);
}
inline Bits select(Mask condition, Bits then, Bits otherwise) {
  return bits(then, at(then).CreateSelect(condition.value, then.value, otherwise.value));
}

/// The bit pattern, and back.
Bits bits_of(Real x);
Real real_of(Bits x);
/// The sign bit alone; a number with more sign bits flipped; |x|; |x| with the sign of `sign`.
Bits sign_bit(Real x);
Real flip_sign(Real x, Bits sign);
Real magnitude(Real x);
Real with_sign(Real x, Real sign);
/// The first 26 significant bits of a float64 (12 of a float32).
Real upper_half(Real x);
/// As IEEE's minimum and maximum, but a NaN in x stays.
Real clamp(Real x, double low, double high);

/// float32 lanes as float64 and back.
Real widened(Real x);
Real narrowed(Real x);

/// a b + c, rounded twice unless fused.
Real muladd(Real a, Real b, Real c);
Real muladd(Real a, double b, Real c);

/// 2^x of float32 by the processor's instruction, of the normal range and 0; see Frame::has_exp2.
Real exp2_by_instruction(Real x);

/// a + b exactly; fast_sum needs |a| >= |b| or a = 0.
Pair sum(Real a, Real b);
Pair fast_sum(Real a, Real b);
/// a b exactly, except that bits below 2^-105 of it may be lost.
Pair product(Real a, Real b);
/// (a.hi + a.lo) / (b.hi + b.lo)
Pair quotient(const Pair &a, const Pair &b);

/// The nearest integer, ties to even, of |x| < 2^51 (2^22 for float32), by an addition that pushes
/// the fraction out; the low bits of `raw` are the integer in two's complement.
struct Rounded {
  Real value;
  Bits raw;
};
Rounded rounded(Real x);
/// 2^k of the integer in the low bits of `raw`, -1022 <= k <= 1023.
Real power_of_two(Bits raw);

/// c[0] + c[1] x + c[2] x^2 + ..., even and odd powers apart so that two chains run at once.
Real polynomial(Real x, const double *coefficients, std::size_t count);
template <std::size_t count>
Real polynomial(Real x, const std::array<double, count> &coefficients) {
  return polynomial(x, coefficients.data(), count);
}

} // namespace tilewright::lanes
