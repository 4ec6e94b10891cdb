// sin, cos and tan. x = n pi/2 + r with |r| <= pi/4: by Cody and Waite's parts while n is small and
// r is not nearly zero, else (once in a module, for the lanes that need it) by Payne and Hanek's
// product with the bits of 2/pi, which is exact enough for every float64. Then one polynomial each
// for sin(r) and cos(r), chosen by n. float32 runs in float64 and is rounded at the end.
#include "targets/llvm/math.h"
#include "targets/llvm/math_coefficients.h"

#include <limits>

namespace tilewright::math {

namespace {

using namespace lanes;
namespace known = math_coefficients;

constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
constexpr double largest_easy = 0x1.8p20; ///< n stays below 2^20

/// x = n pi/2 + r + low, n in the low bits of `quadrant`.
struct Angle {
  Real r;
  Real low;
  Bits quadrant;
};

llvm::Value *any(Mask mask) {
  if (!mask.type()->isVectorTy()) {
    return mask.value;
  }
  return at(mask).CreateOrReduce(mask.value);
}

/// `angle`, but the lanes with `hard` from the exact reduction.
Angle with_hard_lanes(Real x, const Angle &angle, Mask hard, MathLibrary &library) {
  llvm::IRBuilder<> &builder = at(x);
  llvm::Function *exact = library.exact_reduction(x.type());
  llvm::BasicBlock *before = builder.GetInsertBlock();
  llvm::Function *parent = before->getParent();
  auto *slow = llvm::BasicBlock::Create(builder.getContext(), "hard", parent);
  auto *join = llvm::BasicBlock::Create(builder.getContext(), "reduced", parent);
  builder.CreateCondBr(any(hard), slow, join);
  builder.SetInsertPoint(slow);
  const std::vector<llvm::Value *> arguments = {x.value, hard.value, angle.r.value, angle.low.value,
                                                angle.quadrant.value};
  llvm::CallInst *all = builder.CreateCall(exact, arguments);
  all->setCallingConv(exact->getCallingConv());
  llvm::Value *parts[3];
  for (unsigned k = 0; k < 3; ++k) {
    parts[k] = builder.CreateExtractValue(all, k);
  }
  builder.CreateBr(join);
  builder.SetInsertPoint(join);
  auto merge = [&](llvm::Value *easy, llvm::Value *slow_one) {
    llvm::PHINode *phi = builder.CreatePHI(easy->getType(), 2);
    phi->addIncoming(easy, before);
    phi->addIncoming(slow_one, slow);
    return phi;
  };
  return {real(x, merge(angle.r.value, parts[0])), real(x, merge(angle.low.value, parts[1])),
          bits(x, merge(angle.quadrant.value, parts[2]))};
}

Mask is_large(Real x, double limit) {
  const Real size = magnitude(x);
  return (size > limit) & (size < std::numeric_limits<double>::infinity());
}

/// Of float64.
Angle reduce(Real x, MathLibrary &library) {
  const Rounded n = rounded(x * two_over_pi);
  const auto &parts = known::half_pi_parts;
  const Real first = x - n.value * parts[0]; // exact
  const Pair second = sum(first, -(n.value * parts[1]));
  const Pair r = fast_sum(second.hi, second.lo - n.value * parts[2]);
  const Mask cancelled = magnitude(r.hi) < magnitude(n.value) * 0x1p-57;
  return with_hard_lanes(x, {r.hi, r.lo, n.raw}, is_large(x, largest_easy) | cancelled, library);
}

/// Of a float64 that was a float32: the low part is not needed.
Angle reduce_short(Real x, MathLibrary &library) {
  const Rounded n = rounded(x * two_over_pi);
  const Real r = (x - n.value * known::half_pi_short[0]) - n.value * known::half_pi_short[1];
  Angle angle =
      with_hard_lanes(x, {r, constant(x, 0.0), n.raw}, is_large(x, largest_easy), library);
  angle.low = constant(x, 0.0);
  return angle;
}

/// Of float64 with fast_math.
Angle reduce_fast(Real x, MathLibrary &library) {
  const Rounded n = rounded(x * two_over_pi);
  const auto &parts = known::half_pi_parts;
  Real r = muladd(n.value, -parts[0], x);
  r = muladd(n.value, -parts[1], r);
  r = muladd(n.value, -parts[2], r);
  const Mask cancelled = magnitude(r) < magnitude(n.value) * 0x1p-57;
  Angle angle = with_hard_lanes(x, {r, constant(x, 0.0), n.raw},
                                is_large(x, largest_easy) | cancelled, library);
  angle.low = constant(x, 0.0);
  return angle;
}

/// sin(r) or cos(r) by the lowest bit of `quadrant`, with the sign by the one above.
Real by_quadrant(Bits quadrant, Real sine, Real cosine) {
  const bool single = sine.is_single();
  const Mask even = is_zero(quadrant & 1);
  const Bits sign = (quadrant & 2) << (single ? 30 : 62);
  return flip_sign(select(even, sine, cosine), sign);
}

/// sin(r + low) less r, and cos(r + low) as a pair.
Real sine_tail(const Angle &angle, Real z) {
  const Real cubic = angle.r * (z * polynomial(z, known::sin_tail));
  return cubic + (angle.low - angle.low * (0.5 * z));
}

Pair cosine(const Angle &angle, Real z) {
  const Real r1 = upper_half(angle.r);
  const Real head = 0.5 * (r1 * r1); // exact
  const Real tail = 0.5 * ((angle.r - r1) * (angle.r + r1));
  const Pair top = fast_sum(constant(z, 1.0), -head);
  const Real rest = (z * z) * polynomial(z, known::cos_tail) - (tail + angle.r * angle.low);
  return {top.hi, top.lo + rest};
}

/// quadrant + 1 turns sin into cos.
Bits turned(Op op, Bits quadrant) { return op == Op::Cos ? quadrant + 1 : quadrant; }

Real sin_or_cos(Op op, Real x, MathLibrary &library) {
  const Angle angle = reduce(x, library);
  const Real z = angle.r * angle.r;
  const Real sine = angle.r + sine_tail(angle, z);
  const Pair cosine_pair = cosine(angle, z);
  const Real result =
      by_quadrant(turned(op, angle.quadrant), sine, cosine_pair.hi + cosine_pair.lo);
  return op == Op::Sin ? select(x == 0.0, x, result) : result;
}

Real tan_double(Real x, MathLibrary &library) {
  const Angle angle = reduce(x, library);
  const Real z = angle.r * angle.r;
  const Pair sine = fast_sum(angle.r, sine_tail(angle, z));
  const Pair sum_of_cosine = cosine(angle, z);
  const Pair cosine_pair = fast_sum(sum_of_cosine.hi, sum_of_cosine.lo);
  // sin/cos, or -cos/sin in odd quadrants.
  const Mask even = is_zero(angle.quadrant & 1);
  const Pair above{select(even, sine.hi, -cosine_pair.hi), select(even, sine.lo, -cosine_pair.lo)};
  const Pair below{select(even, cosine_pair.hi, sine.hi), select(even, cosine_pair.lo, sine.lo)};
  const Pair result = quotient(above, below);
  return select(x == 0.0, x, result.hi + result.lo);
}

/// sin(r) and cos(r) to 2^-37.
Pair short_sine_cosine(Real r) {
  const Real z = r * r;
  const Real sine = muladd(r * z, polynomial(z, known::sin_short), r);
  const Real cosine =
      muladd(z * z, polynomial(z, known::cos_short), muladd(z, -0.5, constant(z, 1.0)));
  return {sine, cosine};
}

Real short_function(Op op, Real x, MathLibrary &library) {
  const Angle angle = reduce_short(x, library);
  const Pair both = short_sine_cosine(angle.r);
  if (op != Op::Tan) {
    const Real result = by_quadrant(turned(op, angle.quadrant), both.hi, both.lo);
    return op == Op::Sin ? select(x == 0.0, x, result) : result;
  }
  const Mask even = is_zero(angle.quadrant & 1);
  const Real result = select(even, both.hi, -both.lo) / select(even, both.lo, both.hi);
  return select(x == 0.0, x, result);
}

Real fast_double(Op op, Real x, MathLibrary &library) {
  const Angle angle = reduce_fast(x, library);
  const Real r = angle.r;
  const Real z = r * r;
  const Real sine = muladd(r * z, polynomial(z, known::sin_tail), r);
  const Real cosine =
      muladd(z * z, polynomial(z, known::cos_tail), muladd(z, -0.5, constant(z, 1.0)));
  if (op != Op::Tan) {
    const Real result = by_quadrant(turned(op, angle.quadrant), sine, cosine);
    return op == Op::Sin ? select(x == 0.0, x, result) : result;
  }
  const Mask even = is_zero(angle.quadrant & 1);
  return select(x == 0.0, x, select(even, sine, -cosine) / select(even, cosine, sine));
}

/// sin and cos in float32; beyond a few thousand the exact function takes over.
Real fast_single(Op op, Real x, MathLibrary &library) {
  const Rounded n = rounded(x * two_over_pi);
  Real r = x;
  for (const double part : known::half_pi_single) {
    r = muladd(n.value, -part, r);
  }
  const Real z = r * r;
  const Real sine = muladd(r * z, polynomial(z, known::sin_single), r);
  const Real cosine =
      muladd(z * z, polynomial(z, known::cos_single), muladd(z, -0.5, constant(z, 1.0)));
  Real easy = by_quadrant(turned(op, n.raw), sine, cosine);
  easy = op == Op::Sin ? select(x == 0.0, x, easy) : easy;
  llvm::IRBuilder<> &builder = at(x);
  llvm::Function *exact = library.function(op, x.type(), true);
  llvm::BasicBlock *before = builder.GetInsertBlock();
  auto *slow = llvm::BasicBlock::Create(builder.getContext(), "hard", before->getParent());
  auto *join = llvm::BasicBlock::Create(builder.getContext(), "done", before->getParent());
  const Mask hard = is_large(x, 3000.0);
  builder.CreateCondBr(any(hard), slow, join);
  builder.SetInsertPoint(slow);
  llvm::CallInst *all = builder.CreateCall(exact, {x.value});
  all->setCallingConv(exact->getCallingConv());
  const Real merged = select(hard, real(x, all), easy);
  builder.CreateBr(join);
  builder.SetInsertPoint(join);
  llvm::PHINode *phi = builder.CreatePHI(x.type(), 2);
  phi->addIncoming(easy.value, before);
  phi->addIncoming(merged.value, slow);
  return real(x, phi);
}

} // namespace

Real trigonometric(Op op, Real x, bool fast, MathLibrary &library) {
  if (x.is_single()) {
    return fast && op != Op::Tan ? fast_single(op, x, library)
                                 : narrowed(short_function(op, widened(x), library));
  }
  if (fast) {
    return fast_double(op, x, library);
  }
  return op == Op::Tan ? tan_double(x, library) : sin_or_cos(op, x, library);
}

} // namespace tilewright::math
