#include "targets/llvm/lanes.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

namespace tilewright::lanes {

namespace {

llvm::Type *with_scalar(llvm::Type *shape, llvm::Type *scalar) {
  if (auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(shape)) {
    return llvm::FixedVectorType::get(scalar, vector->getNumElements());
  }
  return scalar;
}

std::uint64_t sign_pattern(bool is_single) { return is_single ? 0x80000000U : 0x8000000000000000U; }

} // namespace

Bits bits_of(Real x) {
  llvm::Type *scalar = x.is_single() ? at(x).getInt32Ty() : at(x).getInt64Ty();
  return bits(x, at(x).CreateBitCast(x.value, with_scalar(x.type(), scalar)));
}

Real real_of(Bits x) {
  llvm::Type *scalar =
      x.type()->getScalarSizeInBits() == 32 ? at(x).getFloatTy() : at(x).getDoubleTy();
  return real(x, at(x).CreateBitCast(x.value, with_scalar(x.type(), scalar)));
}

Bits sign_bit(Real x) { return bits_of(x) & sign_pattern(x.is_single()); }

Real flip_sign(Real x, Bits sign) { return real_of(bits_of(x) ^ sign); }

Real magnitude(Real x) {
  return real(x, at(x).CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x.value));
}

Real with_sign(Real x, Real sign) {
  return real(x, at(x).CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x.value, sign.value));
}

Real upper_half(Real x) {
  return real_of(bits_of(x) & (x.is_single() ? 0xfffff000U : 0xfffffffff8000000U));
}

Real clamp(Real x, double low, double high) {
  const Real raised = select(x < low, low, x);
  return select(raised > high, high, raised);
}

Real widened(Real x) {
  return real(x, at(x).CreateFPExt(x.value, with_scalar(x.type(), at(x).getDoubleTy())));
}

Real narrowed(Real x) {
  return real(x, at(x).CreateFPTrunc(x.value, with_scalar(x.type(), at(x).getFloatTy())));
}

Real muladd(Real a, Real b, Real c) {
  if (!a.frame->fused) {
    return a * b + c;
  }
  return real(a,
              at(a).CreateIntrinsic(llvm::Intrinsic::fma, {a.type()}, {a.value, b.value, c.value}));
}

Real muladd(Real a, double b, Real c) { return muladd(a, constant(a, b), c); }

Real exp2_by_instruction(Real x) {
  llvm::IRBuilder<> &builder = at(x);
  const auto apply = [&](llvm::Value *lane) -> llvm::Value * {
    return builder.CreateIntrinsic(llvm::Intrinsic::nvvm_ex2_approx_ftz_f, {}, {lane});
  };
  const auto *vector = llvm::dyn_cast<llvm::FixedVectorType>(x.type());
  if (vector == nullptr) {
    return real(x, apply(x.value));
  }
  llvm::Value *result = llvm::PoisonValue::get(x.type());
  for (unsigned lane = 0; lane < vector->getNumElements(); ++lane) {
    llvm::Value *power = apply(builder.CreateExtractElement(x.value, lane));
    result = builder.CreateInsertElement(result, power, lane);
  }
  return real(x, result);
}

Pair sum(Real a, Real b) {
  const Real hi = a + b;
  const Real b_part = hi - a;
  const Real a_part = hi - b_part;
  return {hi, (a - a_part) + (b - b_part)};
}

Pair fast_sum(Real a, Real b) {
  const Real hi = a + b;
  return {hi, b - (hi - a)};
}

Pair product(Real a, Real b) {
  const Real hi = a * b;
  if (a.frame->fused) {
    return {hi, muladd(a, b, -hi)};
  }
  const Real a1 = upper_half(a);
  const Real a2 = a - a1;
  const Real b1 = upper_half(b);
  const Real b2 = b - b1;
  return {hi, ((a1 * b1 - hi) + a1 * b2 + a2 * b1) + a2 * b2};
}

Pair quotient(const Pair &a, const Pair &b) {
  const Real first = a.hi / b.hi;
  const Pair back = product(first, b.hi);
  const Real rest = ((a.hi - back.hi) - back.lo) + (a.lo - first * b.lo);
  return {first, rest / b.hi};
}

Rounded rounded(Real x) {
  const double pusher = x.is_single() ? 0x1.8p23 : 0x1.8p52;
  const Real pushed = x + pusher;
  return {pushed - pusher, bits_of(pushed)};
}

Real power_of_two(Bits raw) {
  return raw.type()->getScalarSizeInBits() == 32 ? real_of((raw + 127) << 23)
                                                 : real_of((raw + 1023) << 52);
}

Real polynomial(Real x, const double *coefficients, std::size_t count) {
  const bool split = count >= 5;
  const Real step = split ? x * x : x;
  auto chain = [&](std::size_t first) {
    const std::size_t stride = split ? 2 : 1;
    std::size_t k = first + (count - 1 - first) / stride * stride;
    Real result = constant(x, coefficients[k]);
    while (k > first) {
      k -= stride;
      result = muladd(result, step, constant(x, coefficients[k]));
    }
    return result;
  };
  return split ? muladd(chain(1), x, chain(0)) : chain(0);
}

} // namespace tilewright::lanes
